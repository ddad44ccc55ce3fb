package allocator.arena.compact;

import allocator.spi.SyncStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which streams have freed memory, by index of a mapping or an extent, and may still use it. The last of them is known
 * exactly; of the others each as one bit. Guarded by the arena's lock.
 */
final class LastFrees {
    /** What {@link #pending} returns if no stream may use what was freed; no stream has this id. */
    static final long NO_STREAM = -1;

    /** What {@link #pending} returns for several streams. */
    static final long SEVERAL_STREAMS = 0;

    private static final int NONE = FreeingStreams.NONE;

    /** Streams that others than the last one are: which one was the last is done, or unknown. */
    private static final int OTHERS = -2;

    private final FreeingStreams streams;

    /** The stream that freed last, {@link #NONE}, or {@link #OTHERS}. */
    private int[] last = new int[0];

    /** The sync id of that stream at its last free. */
    private long[] stamps = new long[0];

    /** The bits of other streams. */
    private long[] others = new long[0];

    /** The last free, in the order of all frees. */
    private long[] frees = new long[0];

    LastFrees(FreeingStreams streams) {
        this.streams = streams;
    }

    /** Makes room for indexes up to {@code length}. */
    void ensureLength(int length) {
        if (length > last.length) {
            setLength(length);
        }
    }

    /** Forgets the indexes from {@code length} on, or makes room up to it. */
    void setLength(int length) {
        final int before = last.length;
        if (length == before) {
            return;
        }
        final int[] newLast = Arrays.copyOf(last, length);
        final long[] newStamps = Arrays.copyOf(stamps, length);
        final long[] newOthers = Arrays.copyOf(others, length);
        frees = Arrays.copyOf(frees, length);
        if (length > before) {
            Arrays.fill(newLast, before, length, NONE);
        }
        others = newOthers;
        stamps = newStamps;
        last = newLast;
    }

    /** Records a free by the stream of a number, the last one that was counted. */
    void record(int index, int stream, long stamp) {
        if (last[index] == stream && !streams.isDone(stream, frees[index])) {
            stamps[index] = Math.max(stamps[index], stamp);
            frees[index] = streams.frees();
        } else {
            record(index, stream, stamp, 0, streams.frees());
        }
    }

    /** Records here what another table has at an index. */
    void record(int index, LastFrees other, int otherIndex) {
        if (!other.isNone(otherIndex)) {
            record(
                    index,
                    other.last[otherIndex],
                    other.stamps[otherIndex],
                    other.others[otherIndex],
                    other.frees[otherIndex]);
        }
    }

    private void record(int index, int stream, long stamp, long moreOthers, long free) {
        final int before = isNone(index) ? NONE : last[index];
        if (before == NONE) {
            stamps[index] = stamp;
            others[index] = moreOthers;
            frees[index] = free;
        } else {
            final long bit = before >= 0 && before != stream ? bit(before) : 0;
            stamps[index] = before == stream ? Math.max(stamps[index], stamp) : stamp;
            others[index] |= moreOthers | bit;
            frees[index] = Math.max(frees[index], free);
        }
        last[index] = stream;
    }

    private static long bit(int stream) {
        return 1L << (stream % FreeingStreams.BITS);
    }

    /** Forgets the streams whose work is done. */
    private void settle(int index) {
        final int stream = last[index];
        final long free = frees[index];
        long left = 0;
        for (long bits = others[index]; bits != 0; bits &= bits - 1) {
            if (!streams.areDone(Long.numberOfTrailingZeros(bits), free)) {
                left |= Long.lowestOneBit(bits);
            }
        }
        others[index] = left;
        if (stream == OTHERS || streams.isDone(stream, free)) {
            last[index] = left == 0 ? NONE : OTHERS;
        }
    }

    /** Returns whether no stream may still use what it freed. */
    boolean isNone(int index) {
        if (last[index] != NONE) {
            settle(index);
        }
        return last[index] == NONE;
    }

    /** Returns whether a requester comes after what was freed. */
    boolean isBefore(int index, @Nullable SyncStream requester) {
        if (isNone(index)) {
            return true;
        }
        final SyncStream stream = last[index] >= 0 && others[index] == 0 ? streams.stream(last[index]) : null;
        return stream != null
                && (stream.hasEnded()
                        || (requester != null
                                && (stream.id() == requester.id()
                                        || requester.lastWaitedSyncId(stream) > stamps[index])));
    }

    /**
     * {@return the id of the stream that may still use what was freed; {@link #NO_STREAM} for none,
     * {@link #SEVERAL_STREAMS} for several, or one that is not known}
     */
    long pending(int index) {
        if (isNone(index)) {
            return NO_STREAM;
        }
        final SyncStream stream = last[index] >= 0 && others[index] == 0 ? streams.stream(last[index]) : null;
        return stream == null ? SEVERAL_STREAMS : stream.id();
    }

    /** Returns whether what was freed here and at an index of another table was freed by one stream at most. */
    boolean isOneStreamWith(int index, LastFrees other, int otherIndex) {
        return isNone(index)
                || other.isNone(otherIndex)
                || (others[index] == 0 && other.others[otherIndex] == 0 && last[index] == other.last[otherIndex]);
    }

    /** Forgets an index. */
    void clear(int index) {
        last[index] = NONE;
    }

    /** Forgets everything. */
    void clear() {
        Arrays.fill(last, NONE);
    }
}
