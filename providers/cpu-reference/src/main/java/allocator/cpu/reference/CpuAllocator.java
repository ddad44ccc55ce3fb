package allocator.cpu.reference;

import allocator.spi.AllocatorClosedException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import java.lang.foreign.MemorySegment;

/** What this provider hands out: memory that the host can see, destroyed when its last reference is back. */
sealed interface CpuAllocator extends HostAccessibleAllocator permits HostAllocator, CpuArena {
    /**
     * Returns all memory to the system. Addresses given out are then dead. A second call tries again to return what the
     * system did not take back.
     */
    void destroy();

    /** Returns whether the end has begun. */
    boolean isClosed();

    @Override
    default MemorySegment segment(long address, long byteSize) {
        if (isClosed()) {
            throw new AllocatorClosedException("the allocator of " + info() + " is closed");
        }
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (address == 0 && byteSize > 0) {
            throw new InvalidSizeException(byteSize, "is not zero, but the empty allocation has no bytes");
        }
        return HostHeap.segment(address, byteSize);
    }
}
