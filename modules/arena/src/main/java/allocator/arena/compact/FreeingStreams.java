package allocator.arena.compact;

import allocator.provider.support.HeapSize;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The streams that freed memory, by number, and how far the work of each is done. Frees are counted, and of each stream
 * it is known up to which free its work is done: so what a stream has freed becomes free for others by one store,
 * however much it is.
 *
 * <p>A number is given to another stream once all that its stream has freed is done. What was freed under that number
 * before counts as done then, too. Guarded by the arena's lock.
 */
final class FreeingStreams {
    /** No stream. */
    static final int NONE = -1;

    /** How many streams a mask tells apart: those with the same number modulo this one share a bit. */
    static final int BITS = Long.SIZE;

    private static final int LEAST_LENGTH = 4;

    private @Nullable SyncStream[] streams = new @Nullable SyncStream[LEAST_LENGTH];

    /** By stream: its work up to this free is done. */
    private long[] doneUpTo = new long[LEAST_LENGTH];

    /** By stream: its last free. */
    private long[] lastFrees = new long[LEAST_LENGTH];

    private int count;

    /** All work up to this free is done. */
    private long allDoneUpTo;

    /** Frees so far. */
    private long frees;

    /** The stream asked for last. */
    private int latest = NONE;

    /** Returns how many frees there have been. */
    long frees() {
        return frees;
    }

    /** Returns the number of a stream, {@link #NONE} if it has none. */
    int find(SyncStream stream) {
        if (latest >= 0 && isAt(latest, stream)) {
            return latest;
        }
        for (int number = 0; number < count; number++) {
            if (isAt(number, stream)) {
                latest = number;
                return number;
            }
        }
        return NONE;
    }

    private boolean isAt(int number, SyncStream stream) {
        final SyncStream other = streams[number];
        return other != null && other.id() == stream.id();
    }

    /** Returns the number of a stream, and gives it one if it has none. May take Java heap. */
    int number(SyncStream stream) {
        final int known = find(stream);
        if (known != NONE) {
            return known;
        }
        int number = 0;
        while (number < count && !isDone(number, lastFrees[number])) {
            number++;
        }
        if (number == streams.length) {
            final int length = 2 * number;
            final long[] moreDone = Arrays.copyOf(doneUpTo, length);
            final long[] moreFrees = Arrays.copyOf(lastFrees, length);
            streams = Arrays.copyOf(streams, length);
            lastFrees = moreFrees;
            doneUpTo = moreDone;
        }
        streams[number] = stream;
        count = Math.max(count, number + 1);
        latest = number;
        return number;
    }

    /** Returns the stream of a number. */
    @Nullable
    SyncStream stream(int number) {
        return streams[number];
    }

    /** Counts a free. Returns the number of its stream, {@link #NONE} for none. */
    int countFree(@Nullable SyncStream stream) {
        frees++;
        return stream == null ? NONE : recountFree(stream);
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

    /** Notes that all work of a stream is done. */
    void finish(SyncStream stream) {
        final int number = find(stream);
        if (number != NONE) {
            doneUpTo[number] = frees;
        }
    }

    /** Notes that all work up to a free is done. */
    void finishUpTo(long free) {
        allDoneUpTo = Math.max(allDoneUpTo, free);
    }

    /** Adds the streams with work that is not known to be done. */
    void addPending(Map<Long, SyncStream> owners) {
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
            final long[] noneDone = new long[LEAST_LENGTH];
            lastFrees = new long[LEAST_LENGTH];
            doneUpTo = noneDone;
            streams = none;
            count = 0;
            latest = NONE;
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

    /** Returns the bytes of Java heap that the tables take. */
    long bookkeepingBytes() {
        return HeapSize.ofReferences(streams.length) + 2 * HeapSize.ofLongs(streams.length);
    }
}
