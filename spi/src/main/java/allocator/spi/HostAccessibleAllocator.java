package allocator.spi;

import java.lang.foreign.MemorySegment;

/** An allocator whose memory the host can read and write. Device memory is never seen as a segment (H-01). */
public interface HostAccessibleAllocator extends Allocator {
    /**
     * Sees a live allocation as a memory segment.
     *
     * <p>The segment is valid while the allocation lives; using it afterwards is as undefined as using freed memory in
     * C. An implementation may check that {@code address} is live, and says so if it does.
     *
     * @param address what an allocation of this allocator returned
     * @param byteSize size in bytes, at most what was asked for when allocating
     * @return a segment of exactly {@code byteSize} bytes; an empty one if {@code address} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative, or not zero for the empty allocation
     */
    MemorySegment segment(long address, long byteSize);
}
