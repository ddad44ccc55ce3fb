package allocator.runtime.lifetime;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the live blocks of one user of an allocator, cheaply and from any thread.
 *
 * <p>There are two rising counters instead of one that falls: {@code live = begun - ended}. {@code ended} is read
 * first, so that a concurrent change can only make the result too large, never too small, and {@link #isNone} is never
 * wrongly {@code true}. A single striped counter could read as zero while one thread allocates and another frees.
 */
public class LiveBlocks {
    /**
     * The blocks that failed calls uncount, in addition to {@link #end}. Raised under the monitor of this object by a
     * plain store: unlike a call, it fails neither where the stack ends nor where the Java heap does.
     */
    public volatile long uncounted;

    /** What the instance has carried over of this user, who is removed. Guarded by the monitor of the instances. */
    long carried;

    private final LongAdder begun = new LongAdder();
    private final LongAdder ended = new LongAdder();

    /** Starts at zero. */
    public LiveBlocks() {}

    /** Counts a block, before it is allocated. If this method throws, the block is not counted. */
    public final void begin() {
        begun.increment();
    }

    /** Uncounts a block, after it was freed. If this method throws, the block is still counted. */
    public final void end() {
        ended.increment();
    }

    long begun() {
        return begun.sum();
    }

    long ended() {
        return ended.sum() + uncounted;
    }

    /**
     * Returns the number of live blocks; exact while no thread allocates or frees.
     *
     * @return the count; below zero if blocks of other users were freed here
     */
    public final long count() {
        final long done = ended();
        return begun() - done;
    }

    /**
     * Returns whether there was a moment during this call at which no block was live.
     *
     * @return whether the count was zero
     */
    public final boolean isNone() {
        return count() == 0;
    }
}
