package allocator.arena.compact;

import allocator.provider.support.HeapSize;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which stream freed memory last, by index of a place or a page, and may still use it. Where several did, the last of
 * them is known. Guarded by the arena's lock.
 */
final class LastFrees {
    /** A stamp for frees of several streams, which no wait for one of them covers. */
    private static final long SEVERAL = Long.MAX_VALUE;

    private @Nullable SyncStream[] streams = new @Nullable SyncStream[0];

    /** The sync id of the stream at its last free, or {@link #SEVERAL}. */
    private long[] stamps = new long[0];

    /** The number of the last free, in the order of all frees. */
    private long[] numbers = new long[0];

    /** Makes room for indexes up to {@code length}. */
    void ensureLength(int length) {
        if (length > streams.length) {
            final @Nullable SyncStream[] moreStreams = Arrays.copyOf(streams, length);
            final long[] moreStamps = Arrays.copyOf(stamps, length);
            numbers = Arrays.copyOf(numbers, length);
            stamps = moreStamps;
            streams = moreStreams;
        }
    }

    /** Records a free; any thread that has {@code null} for a stream has waited itself. */
    void record(int index, @Nullable SyncStream stream, long stamp, long number) {
        if (stream == null) {
            return;
        }
        final SyncStream last = streams[index];
        if (last == null) {
            stamps[index] = stamp;
        } else if (last.id() != stream.id() || stamps[index] == SEVERAL) {
            stamps[index] = SEVERAL;
        } else {
            stamps[index] = Math.max(stamps[index], stamp);
        }
        numbers[index] = number;
        streams[index] = stream;
    }

    /** Records here what another table has at an index. */
    void record(int index, LastFrees other, int otherIndex) {
        record(index, other.streams[otherIndex], other.stamps[otherIndex], other.numbers[otherIndex]);
    }

    /**
     * Returns the stream that may still use what it freed, the last one if there are several; {@code null} for none.
     */
    @Nullable
    SyncStream stream(int index) {
        return streams[index];
    }

    /** Returns whether no stream may still use what it freed. */
    boolean isNone(int index) {
        return streams[index] == null;
    }

    /** Returns whether a requester comes after what was freed. */
    boolean isBefore(int index, @Nullable SyncStream requester) {
        final SyncStream stream = streams[index];
        if (stream == null) {
            return true;
        }
        if (stamps[index] == SEVERAL) {
            return false;
        }
        return stream.hasEnded()
                || (requester != null
                        && (stream.id() == requester.id() || requester.lastWaitedSyncId(stream) > stamps[index]));
    }

    /** Forgets an index. */
    void clear(int index) {
        streams[index] = null;
    }

    /** Forgets everything. */
    void clear() {
        Arrays.fill(streams, null);
    }

    /**
     * Forgets a stream, whose work is done.
     *
     * @return whether that is certain; otherwise it may be one of several
     */
    boolean forget(SyncStream done) {
        boolean isCertain = true;
        for (int i = 0; i < streams.length; i++) {
            final SyncStream stream = streams[i];
            if (stream != null && stamps[i] == SEVERAL) {
                isCertain = false;
            } else if (stream != null && stream.id() == done.id()) {
                streams[i] = null;
            }
        }
        return isCertain;
    }

    /** Forgets all frees up to one, as their work is done. */
    void forgetUpTo(long number) {
        for (int i = 0; i < streams.length; i++) {
            if (numbers[i] <= number) {
                streams[i] = null;
            }
        }
    }

    /**
     * Adds the streams.
     *
     * @return whether these are all; where several streams freed memory, the last one is added
     */
    boolean addTo(Map<Long, SyncStream> owners) {
        boolean areAll = true;
        for (int i = 0; i < streams.length; i++) {
            final SyncStream stream = streams[i];
            if (stream != null) {
                owners.put(stream.id(), stream);
                areAll &= stamps[i] != SEVERAL;
            }
        }
        return areAll;
    }

    /** Returns the bytes of Java heap that the tables take. */
    long bookkeepingBytes() {
        return HeapSize.ofReferences(streams.length) + 2 * HeapSize.ofLongs(stamps.length);
    }
}
