package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.simulated.device.PoolSegment.Tile;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Allocated or mapped memory, which an {@link AddressMap} finds by its address. */
final class AddressedMemory {
    /** The function that made it, and the number of the call. */
    final CudaFunction origin;

    final long call;

    final Device device;
    final long address;
    final long byteSize;
    final Contents contents;

    /** Where this memory begins in {@link #contents}. */
    final long contentsOffset;

    /** The physical memory of a mapping. */
    final @Nullable PhysicalMemory mapped;

    /** The tile of a pool's allocation. */
    final @Nullable Tile tile;

    /** The access that devices were given to a mapping; to other memory they need none. */
    final Map<Device, MemoryAccess> access = new HashMap<>();

    private AddressedMemory(
            CudaFunction origin,
            long call,
            Device device,
            long address,
            long byteSize,
            Contents contents,
            long contentsOffset,
            @Nullable PhysicalMemory mapped,
            @Nullable Tile tile) {
        this.origin = origin;
        this.call = call;
        this.device = device;
        this.address = address;
        this.byteSize = byteSize;
        this.contents = contents;
        this.contentsOffset = contentsOffset;
        this.mapped = mapped;
        this.tile = tile;
    }

    /** An allocation from the device or the host. */
    static AddressedMemory allocation(
            CudaFunction origin, long call, Device device, long address, long byteSize, Contents contents) {
        return new AddressedMemory(origin, call, device, address, byteSize, contents, 0, null, null);
    }

    /** An allocation from a pool. */
    static AddressedMemory ofPool(long call, Device device, Tile tile) {
        return new AddressedMemory(
                CudaFunction.MEM_ALLOC_FROM_POOL_ASYNC,
                call,
                device,
                tile.address,
                tile.byteSize,
                tile.segment.contents,
                tile.address - tile.segment.address,
                null,
                tile);
    }

    /** A mapping, which no device can access until it is given access. */
    static AddressedMemory mapping(long call, long address, PhysicalMemory mapped) {
        return new AddressedMemory(
                CudaFunction.MEM_MAP, call, mapped.device, address, mapped.byteSize, mapped.contents, 0, mapped, null);
    }

    long end() {
        return address + byteSize;
    }

    boolean isHostMemory() {
        return origin == CudaFunction.MEM_HOST_ALLOC || origin == CudaFunction.MEM_ALLOC_MANAGED;
    }

    @Override
    public String toString() {
        return "device %d: %d bytes at %#x from %s, call %d"
                .formatted(device.ordinal(), byteSize, address, origin.functionName(), call);
    }

    /** Device memory without an address, from {@code cuMemCreate}. */
    static final class PhysicalMemory {
        final long handle;
        final Device device;
        final long byteSize;
        final Contents contents;
        int mappings;
        boolean isReleased;

        PhysicalMemory(long handle, Device device, long byteSize, Contents contents) {
            this.handle = handle;
            this.device = device;
            this.byteSize = byteSize;
            this.contents = contents;
        }

        @Override
        public String toString() {
            return "device %d: %d bytes of physical memory, handle %#x".formatted(device.ordinal(), byteSize, handle);
        }
    }
}
