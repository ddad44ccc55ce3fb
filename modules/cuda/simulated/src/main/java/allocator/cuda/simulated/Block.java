package allocator.cuda.simulated;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.MemoryAccess;
import org.jspecify.annotations.Nullable;

/** Allocated or mapped memory, found by its address. */
final class Block {
    final CudaFunction origin;
    final long call;
    final int device;
    final long address;
    final long byteSize;
    final Bytes bytes;

    /** Where this block begins in {@link #bytes}. */
    final long bytesOffset;

    /** What a mapping maps, and what its device may do with it. */
    final @Nullable PhysicalMemory mapped;

    MemoryAccess access = MemoryAccess.READ_WRITE;

    /** The tile of a pool that this block is. */
    final @Nullable Tile tile;

    Block(
            CudaFunction origin,
            long call,
            int device,
            long address,
            long byteSize,
            Bytes bytes,
            long bytesOffset,
            @Nullable PhysicalMemory mapped,
            @Nullable Tile tile) {
        this.origin = origin;
        this.call = call;
        this.device = device;
        this.address = address;
        this.byteSize = byteSize;
        this.bytes = bytes;
        this.bytesOffset = bytesOffset;
        this.mapped = mapped;
        this.tile = tile;
    }

    long end() {
        return address + byteSize;
    }

    @Override
    public String toString() {
        return "device %d: %d bytes at %#x from %s, call %d"
                .formatted(device, byteSize, address, origin.functionName(), call);
    }
}
