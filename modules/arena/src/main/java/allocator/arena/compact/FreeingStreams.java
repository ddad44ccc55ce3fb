package allocator.arena.compact;

import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The streams that freed memory, by number, and how far the work of each is done. Frees are counted, and of each stream
 * it is known up to which free its work is done: so what a stream has freed becomes free for others by one store,
 * however much it is.
 *
 * <p>A number is given to another stream once all that its stream has freed is done, or its stream has ended. What was
 * freed under that number before counts as done then, too. Guarded by the arena's lock.
 */
public final class FreeingStreams {
    /** No stream. */
    static final int NONE = -1;

    /** How many streams a mask tells apart: those with the same number modulo this one share a bit. */
    static final int BITS = Long.SIZE;

    private static final int LEAST_LENGTH = 4;

    /** How many numbers are visited to find one whose stream is done. */
    private static final int VISITS = 8;

    /** The golden ratio's fraction: spreads stream ids. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** By number; the length is a power of two. */
    private @Nullable SyncStream[] streams = new @Nullable SyncStream[LEAST_LENGTH];

    /** By number: the stream's id. */
    private long[] ids = new long[LEAST_LENGTH];

    /** By hash of an id: the first number of a chain, plus 1. As long as {@link #streams}. */
    private int[] chains = new int[LEAST_LENGTH];

    /** By number: the next one of its chain, plus 1. */
    private int[] nexts = new int[LEAST_LENGTH];

    /** By number: the stream's work up to this free is done. */
    private long[] doneUpTo = new long[LEAST_LENGTH];

    /** By number: the stream's last free. */
    private long[] lastFrees = new long[LEAST_LENGTH];

    private int count;

    /** The number visited last in search of one whose stream is done. */
    private int hand;

    /** All work up to this free is done. */
    private long allDoneUpTo;

    /** Frees so far. */
    private long frees;

    /** How often work was found to be done. */
    private long finishes;

    /** Ends of runs in which memory was freed. */
    private long runs;

    /** The number asked for last; there is a stream of that number if {@link #count} is above it. */
    private int latest;

    /** Returns how many frees there have been. */
    public long frees() {
        return frees;
    }

    /** Returns the number of a stream, {@link #NONE} if it has none. */
    int find(SyncStream stream) {
        return find(stream.id());
    }

    private int find(long id) {
        if (latest < count && ids[latest] == id) {
            return latest;
        }
        for (int each = chains[chain(id, chains.length)]; each != 0; each = nexts[each - 1]) {
            if (ids[each - 1] == id) {
                latest = each - 1;
                return latest;
            }
        }
        return NONE;
    }

    private static int chain(long id, int chains) {
        return (int) ((id * SPREAD) >>> (Integer.numberOfLeadingZeros(chains) + Integer.SIZE + 1));
    }

    /** Returns the number of a stream, and gives it one if it has none. May take Java heap. */
    int number(SyncStream stream) {
        final long id = stream.id();
        final int known = find(id);
        if (known != NONE) {
            return known;
        }
        final int vacant = vacant();
        if (vacant != NONE) {
            unchain(vacant);
        } else if (count == streams.length) {
            grow();
        }
        final int number = vacant == NONE ? count : vacant;
        final int chain = chain(id, chains.length);
        // Stores only, as a call may fail where the stack ends.
        streams[number] = stream;
        ids[number] = id;
        nexts[number] = chains[chain];
        chains[chain] = number + 1;
        count += vacant == NONE ? 1 : 0;
        latest = number;
        return number;
    }

    /**
     * Returns a number whose stream is done or has ended, {@link #NONE} if there is none among the next few. As each
     * stream that is added visits a few in turn, there are at most about a seventh more than were ever needed at once.
     */
    private int vacant() {
        for (int visits = Math.min(VISITS, count); visits > 0; visits--) {
            hand = hand + 1 < count ? hand + 1 : 0;
            if (isDone(hand, lastFrees[hand]) || hasEnded(hand)) {
                return hand;
            }
        }
        return NONE;
    }

    /** Returns whether a stream has ended. If so, what it has freed is done. */
    private boolean hasEnded(int number) {
        final SyncStream stream = streams[number];
        if (stream == null || !stream.hasEnded()) {
            return false;
        }
        doneUpTo[number] = lastFrees[number];
        finishes++;
        return true;
    }

    /** Takes a number out of its chain, unless an attempt to do so that failed has done it. */
    private void unchain(int number) {
        final int chain = chain(ids[number], chains.length);
        int before = NONE;
        int each = chains[chain] - 1;
        while (each != NONE && each != number) {
            before = each;
            each = nexts[each] - 1;
        }
        if (each == NONE) {
            return;
        }
        if (before == NONE) {
            chains[chain] = nexts[number];
        } else {
            nexts[before] = nexts[number];
        }
    }

    private void grow() {
        final int length = 2 * count;
        final long[] moreIds = Arrays.copyOf(ids, length);
        final long[] moreDone = Arrays.copyOf(doneUpTo, length);
        final long[] moreFrees = Arrays.copyOf(lastFrees, length);
        final int[] moreNexts = new int[length];
        final int[] moreChains = new int[length];
        for (int number = 0; number < count; number++) {
            final int chain = chain(ids[number], length);
            moreNexts[number] = moreChains[chain];
            moreChains[chain] = number + 1;
        }
        streams = Arrays.copyOf(streams, length);
        ids = moreIds;
        doneUpTo = moreDone;
        lastFrees = moreFrees;
        nexts = moreNexts;
        chains = moreChains;
    }

    /** Returns the stream of a number. */
    @Nullable
    SyncStream stream(int number) {
        return streams[number];
    }

    /** Counts a free by the stream of a number, {@link #NONE} for none. */
    void countFree(int number) {
        frees++;
        if (number != NONE) {
            lastFrees[number] = frees;
        }
    }

    /** Makes the last free that was counted the last one of a stream, and returns its number. */
    int recountFree(SyncStream stream) {
        final int number = number(stream);
        lastFrees[number] = frees;
        return number;
    }

    /** Returns whether a stream's work up to a free is done. */
    boolean isDone(int number, long free) {
        return free <= allDoneUpTo || free <= doneUpTo[number];
    }

    /** Returns whether the work up to a free is done of all streams that share a bit. */
    boolean areDone(int bit, long free) {
        for (int number = bit; number < count; number += BITS) {
            if (!isDone(number, Math.min(free, lastFrees[number]))) {
                return false;
            }
        }
        return true;
    }

    /** Notes that all work of a stream is done, at the end of a run. */
    void finish(SyncStream stream) {
        final int number = find(stream);
        if (number != NONE) {
            runs += isDone(number, lastFrees[number]) ? 0 : 1;
            doneUpTo[number] = frees;
            finishes++;
        }
    }

    /** Notes that the work of a stream up to a free is done. */
    public void finish(SyncStream stream, long free) {
        final int number = find(stream);
        if (number != NONE) {
            doneUpTo[number] = Math.max(doneUpTo[number], free);
            finishes++;
        }
    }

    /** Notes that all work up to a free is done. */
    public void finishUpTo(long free) {
        allDoneUpTo = Math.max(allDoneUpTo, free);
        finishes++;
    }

    /** Returns how many runs have ended in which memory was freed. */
    public long runs() {
        return runs;
    }

    /** Returns a number that rises with each free, and whenever work is known to be done. */
    public long changes() {
        return frees + finishes;
    }

    /** Adds the streams with work that is not known to be done. */
    public void addPending(Map<Long, SyncStream> owners) {
        for (int number = 0; number < count; number++) {
            final SyncStream stream = streams[number];
            if (stream != null && !isDone(number, lastFrees[number])) {
                owners.put(stream.id(), stream);
            }
        }
    }

    /** Forgets all streams if there is room for many and the work of all is done, and gives back Java heap. */
    void compact() {
        if (streams.length > LEAST_LENGTH && areAllDone()) {
            final @Nullable SyncStream[] none = new @Nullable SyncStream[LEAST_LENGTH];
            final long[] noIds = new long[LEAST_LENGTH];
            final int[] noChains = new int[LEAST_LENGTH];
            final int[] noNexts = new int[LEAST_LENGTH];
            final long[] noneDone = new long[LEAST_LENGTH];
            lastFrees = new long[LEAST_LENGTH];
            doneUpTo = noneDone;
            nexts = noNexts;
            chains = noChains;
            ids = noIds;
            streams = none;
            count = 0;
            allDoneUpTo = frees; // so that no number that is recorded is looked up
        }
    }

    private boolean areAllDone() {
        for (int number = 0; number < count; number++) {
            if (!isDone(number, lastFrees[number])) {
                return false;
            }
        }
        return true;
    }
}
