package allocator.spi;

import java.lang.foreign.MemorySegment;

/** An allocator whose memory the host can read and write. Device memory has no segments (H-01). */
public interface HostAccessibleAllocator extends Allocator {
    /**
     * {@return a memory segment of exactly {@code byteSize} bytes over a live block, which begins at {@code address}
     * (H-02); an empty one if {@code address} is {@code 0}}
     *
     * <p>The segment is valid while the block is live; later use is undefined, as with freed memory in C. An
     * implementation may check that {@code address} is live and has so many bytes, and documents it if it does: it
     * rejects others with any {@link RuntimeException} (H-02).
     *
     * @param address the address of a block of this allocator, or {@code 0}
     * @param byteSize size in bytes, at most the size that was requested
     * @throws AllocatorClosedException if this allocator is closed (L-02)
     * @throws InvalidSizeException if {@code byteSize} is negative, or not zero for the empty allocation; an
     *     implementation may throw another {@link RuntimeException} (H-02)
     */
    MemorySegment segment(long address, long byteSize);
}
