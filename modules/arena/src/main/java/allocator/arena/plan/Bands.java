package allocator.arena.plan;

import allocator.provider.support.HeapSize;
import allocator.spi.SyncStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What was freed in each band and may still be used by a stream: in the run that memory follows, and in earlier ones.
 * Where several streams freed, a requester has to be behind all that streams freed anywhere.
 */
final class Bands {
    /** Instead of a slot: several streams. */
    private static final int SEVERAL = -1;

    private final PlanStreams streams;

    /** The run in which each band was used last. */
    private final long[] runs;

    private final Freed earlier;
    private final Freed now;

    /** For each band the stream that freed, and the term and stamp of its latest free. */
    private static final class Freed {
        private final int[] slots;
        private final int[] terms;
        private final long[] stamps;

        Freed(int bands) {
            slots = new int[bands];
            terms = new int[bands];
            stamps = new long[bands];
        }
    }

    Bands(int count, PlanStreams streams) {
        this.streams = streams;
        runs = new long[count];
        earlier = new Freed(count);
        now = new Freed(count);
    }

    /** Counts what was freed in earlier runs as such. Call it before a block is placed in the band. */
    void enter(int band, long run) {
        if (runs[band] != run) {
            runs[band] = run;
            add(earlier, band, now.slots[band], now.terms[band], now.stamps[band]);
            now.slots[band] = PlanStreams.NONE;
            if (earlier.slots[band] == SEVERAL && streams.areSettled()) {
                earlier.slots[band] = PlanStreams.NONE;
            }
        }
    }

    /** Returns whether a requester may use what was freed in earlier runs. */
    boolean mayUse(int band, int requester, @Nullable SyncStream stream) {
        final int slot = earlier.slots[band];
        if (slot == PlanStreams.NONE || slot == requester) {
            return true;
        }
        return slot == SEVERAL
                ? streams.mayUseAll(requester, stream)
                : streams.mayUse(requester, stream, slot, earlier.terms[band], earlier.stamps[band]);
    }

    /**
     * Records a free.
     *
     * @param run the run in which the block was allocated
     */
    void freed(int band, long run, int slot, long stamp) {
        add(run == runs[band] ? now : earlier, band, slot, streams.term(slot), stamp);
    }

    private void add(Freed to, int band, int slot, int term, long stamp) {
        if (slot == PlanStreams.NONE || (slot != SEVERAL && streams.isSettled(slot, term))) {
            return;
        }
        final int known = to.slots[band];
        final boolean isOther = known != PlanStreams.NONE
                && (known == SEVERAL || (known != slot && !streams.isSettled(known, to.terms[band])));
        final boolean isSame = known == slot && to.terms[band] == term;
        to.slots[band] = isOther ? SEVERAL : slot;
        to.terms[band] = term;
        to.stamps[band] = isSame ? Math.max(to.stamps[band], stamp) : stamp;
    }

    /** Forgets everything: the memory was returned. */
    void clear() {
        Arrays.fill(earlier.slots, PlanStreams.NONE);
        Arrays.fill(now.slots, PlanStreams.NONE);
    }

    long heapBytes() {
        return HeapSize.ofLongs(3L * runs.length) + HeapSize.ofInts(4L * runs.length);
    }
}
