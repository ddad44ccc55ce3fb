package allocator.cuda.simulated;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaResult;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One device: its memory, addresses, pools and primary context. */
final class SimulatedDevice {
    final CudaDeviceInfo info;
    final AddressSpace addresses;
    final boolean hasContents;
    final Map<Long, Pool> pools = new LinkedHashMap<>();
    final @Nullable Pool defaultPool;
    int retained;

    @Nullable
    StreamQueue defaultStream;

    private long usedByteSize;

    SimulatedDevice(CudaDeviceInfo info, boolean hasContents, long defaultPoolHandle) {
        this.info = info;
        this.hasContents = hasContents;
        addresses = new AddressSpace(info.ordinal());
        defaultPool = info.hasMemoryPools() ? new Pool(defaultPoolHandle, this) : null;
        if (defaultPool != null) {
            pools.put(defaultPoolHandle, defaultPool);
        }
    }

    void takeMemory(long byteSize) {
        if (byteSize > freeByteSize()) {
            throw new Refused(CudaResult.OUT_OF_MEMORY);
        }
        usedByteSize += byteSize;
    }

    void giveBackMemory(long byteSize) {
        usedByteSize -= byteSize;
    }

    long freeByteSize() {
        return info.totalByteSize() - usedByteSize;
    }

    Bytes newBytes(long byteSize) {
        return hasContents ? new Bytes.Sparse(byteSize) : Bytes.None.INSTANCE;
    }
}
