package allocator.arena.plan;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/**
 * A {@link PlannedAllocator} over a stream-aware allocator. A range of offsets whose ends no planned block crosses
 * serves one stream at a time. It passes to another requester once nothing in it is live and the stream's run or the
 * stream itself has ended; until then the wrapped allocator serves the other requester's calls.
 */
public class PlannedStreamAllocator extends PlannedAllocator implements StreamAwareAllocator {
    private final StreamAwareAllocator wrapped;

    /**
     * Creates an allocator that holds no memory for its plans yet.
     *
     * @param wrapped serves what is not planned; not closed by this allocator
     * @param plans the plans, at least one
     * @throws IllegalArgumentException as {@link PlannedAllocator}
     */
    public PlannedStreamAllocator(StreamAwareAllocator wrapped, ArenaPlans plans) {
        super(wrapped, plans);
        this.wrapped = wrapped;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return stream.hasEnded() ? wrapped.allocOnStream(byteSize, stream) : allocate(byteSize, stream);
    }

    @Override
    public final boolean isOrderedByDevice() {
        return wrapped.isOrderedByDevice();
    }

    /**
     * Makes what a stream has freed of the planned memory so far free for all (T-04), and lets the next call begin a
     * run of a plan. A provider's streams call it at run end, once their work is done; the wrapped allocator learns of
     * it by itself.
     *
     * @param stream the stream; nothing is freed if it has no memory here
     */
    public void endRun(SyncStream stream) {
        streamEnded(stream, false);
    }

    /**
     * Makes what a stream has freed of the planned memory, and what it frees later, free for all. A provider's streams
     * call it at close, once their work is done; the wrapped allocator learns of it by itself.
     *
     * @param stream the stream; nothing is freed if it has no memory here
     */
    public void releaseStream(SyncStream stream) {
        streamEnded(stream, true);
    }
}
