package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaResult;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One device: its memory, addresses, pools and primary context. */
final class Device {
    final CudaDeviceInfo info;
    final AddressSpace addresses;

    /** The handle of the primary context. */
    final long context;

    /** Whether its work can access the memory of other devices. */
    final boolean hasPeerAccess;

    /** The devices whose memory its work may access. */
    final Set<Device> peers = new HashSet<>();

    final boolean hasContents;
    final Map<Long, MemoryPool> pools = new LinkedHashMap<>();
    final @Nullable MemoryPool defaultPool;

    /** How often the primary context is retained. */
    int retained;

    /** Null while the context is not retained. */
    @Nullable
    StreamQueue defaultStream;

    private long usedByteSize;

    Device(CudaDeviceInfo info, boolean hasContents, boolean hasPeerAccess, long context, long defaultPoolHandle) {
        this.info = info;
        this.hasPeerAccess = hasPeerAccess;
        this.context = context;
        this.hasContents = hasContents;
        addresses = new AddressSpace(info.ordinal());
        defaultPool = info.hasMemoryPools() ? new MemoryPool(defaultPoolHandle, this) : null;
        if (defaultPool != null) {
            pools.put(defaultPoolHandle, defaultPool);
        }
    }

    int ordinal() {
        return info.ordinal();
    }

    void takeMemory(long byteSize) {
        if (byteSize > freeByteSize()) {
            throw new CallFailure(CudaResult.OUT_OF_MEMORY);
        }
        usedByteSize += byteSize;
    }

    void returnMemory(long byteSize) {
        usedByteSize -= byteSize;
    }

    long freeByteSize() {
        return info.totalByteSize() - usedByteSize;
    }

    Contents newContents(long byteSize) {
        return hasContents ? new Contents.Sparse(byteSize) : Contents.None.INSTANCE;
    }

    /** The host has synchronized with this device. */
    void synchronizePools() {
        pools.values().forEach(MemoryPool::synchronize);
    }

    /** Returns the pools that were created and not destroyed, and the context if it is retained, one line each. */
    List<String> live() {
        final List<String> live = new ArrayList<>();
        pools.values().stream()
                .filter(pool -> pool != defaultPool)
                .forEach(pool -> live.add("device %d: pool %#x".formatted(ordinal(), pool.handle)));
        if (retained > 0) {
            live.add("device %d: context, retained %d times".formatted(ordinal(), retained));
        }
        return live;
    }
}
