package allocator.spi;

import java.util.Arrays;

/**
 * What is known of streams: for each the highest sync id waited for, a vector clock. Immutable, so that it is read without
 * a lock and passed on without a copy; a search makes no objects.
 */
final class StreamClock {
    static final StreamClock EMPTY = new StreamClock(new long[0], new long[0]);

    /** The ids of the streams, rising. */
    private final long[] streams;

    private final long[] syncIds;

    private StreamClock(long[] streams, long[] syncIds) {
        this.streams = streams;
        this.syncIds = syncIds;
    }

    /** The sync id that is known of a stream, 0 if none is. */
    long syncId(long stream) {
        final int index = Arrays.binarySearch(streams, stream);
        return index < 0 ? 0 : syncIds[index];
    }

    /** This, and of {@code stream} at least {@code syncId}. */
    StreamClock with(long stream, long syncId) {
        return merge(new StreamClock(new long[] {stream}, new long[] {syncId}));
    }

    /** All that one of the two knows. */
    StreamClock merge(StreamClock other) {
        final long[] mergedStreams = new long[streams.length + other.streams.length];
        final long[] mergedSyncIds = new long[mergedStreams.length];
        int count = 0;
        int mine = 0;
        int theirs = 0;
        while (mine < streams.length || theirs < other.streams.length) {
            final long my = mine < streams.length ? streams[mine] : Long.MAX_VALUE;
            final long their = theirs < other.streams.length ? other.streams[theirs] : Long.MAX_VALUE;
            mergedStreams[count] = Math.min(my, their);
            mergedSyncIds[count++] =
                    Math.max(my <= their ? syncIds[mine++] : 0, their <= my ? other.syncIds[theirs++] : 0);
        }
        return new StreamClock(Arrays.copyOf(mergedStreams, count), Arrays.copyOf(mergedSyncIds, count));
    }
}
