package allocator.runtime.transfer;

import allocator.runtime.transfer.StagingMemory.Buffer;
import java.lang.foreign.MemorySegment;

/** Pieces between a segment, such as an array, and buffers, copied by the calling thread. */
record SegmentHalf(MemorySegment segment, boolean isReading) implements Pipeline.Half {
    @Override
    public void move(long offset, Buffer buffer, long byteSize) {
        if (isReading) {
            MemorySegment.copy(segment, offset, buffer.segment(), 0, byteSize);
        } else {
            MemorySegment.copy(buffer.segment(), 0, segment, offset, byteSize);
        }
    }

    @Override
    public void await() {}

    @Override
    public void close() {}
}
