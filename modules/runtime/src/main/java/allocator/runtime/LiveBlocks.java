package allocator.runtime;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the live blocks of one user of an allocator, cheaply and from any thread.
 *
 * <p>Two rising counters instead of one that falls: {@code live = begun - ended}. Reading {@code ended} first can only
 * answer too much, never too little, however many threads allocate and free meanwhile; so {@link #isNone} is never
 * wrongly {@code true}. A single striped counter could be read as zero while a block moves from one stripe to another.
 */
class LiveBlocks {
    private final LongAdder begun = new LongAdder();
    private final LongAdder ended = new LongAdder();

    /** Counts a block, before it is allocated. */
    final void begin() {
        begun.increment();
    }

    /** Uncounts a block, after it was freed or was not allocated after all. */
    final void end() {
        ended.increment();
    }

    long begun() {
        return begun.sum();
    }

    long ended() {
        return ended.sum();
    }

    /** Live blocks; exact while nobody allocates or frees. Below zero if blocks of others were freed here. */
    final long count() {
        final long done = ended();
        return begun() - done;
    }

    /** Whether there was a moment during this call at which no block was live. */
    final boolean isNone() {
        return count() == 0;
    }
}
