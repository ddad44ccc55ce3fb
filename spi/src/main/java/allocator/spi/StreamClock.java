package allocator.spi;

import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * A vector clock: for each stream the highest sync id waited for. Immutable, so that it is read without a lock and
 * shared without a copy; a lookup creates no objects.
 *
 * <p>A merge drops streams that have ended and streams that are unreachable, since they are not looked up any more. So
 * the size of a clock depends on the streams in use, not on those that have existed.
 */
final class StreamClock {
    static final StreamClock EMPTY = new StreamClock(new long[0], new long[0], new Reference<?>[0]);

    /** The ids of the streams, in ascending order. */
    private final long[] streams;

    private final long[] syncIds;

    /** The {@link SyncStream#life} of each stream, cleared when it has ended. */
    private final Reference<?>[] lives;

    private StreamClock(long[] streams, long[] syncIds, Reference<?>[] lives) {
        this.streams = streams;
        this.syncIds = syncIds;
        this.lives = lives;
    }

    /** Returns the sync id of a stream, 0 if it is not in the clock. */
    long syncId(long stream) {
        final int index = Arrays.binarySearch(streams, stream);
        return index < 0 ? 0 : syncIds[index];
    }

    /** Returns the number of streams. */
    int size() {
        return streams.length;
    }

    /** Passes the id of each stream, in ascending order. */
    void forEach(LongConsumer action) {
        for (final long stream : streams) {
            action.accept(stream);
        }
    }

    /** Returns this clock with at least {@code syncId} for {@code stream}. */
    StreamClock with(SyncStream stream, long syncId) {
        return merge(
                new StreamClock(new long[] {stream.id()}, new long[] {syncId}, new Reference<?>[] {stream.life()}));
    }

    /** Returns the maximum of both clocks. */
    StreamClock merge(StreamClock other) {
        final long[] mergedStreams = new long[streams.length + other.streams.length];
        final long[] mergedSyncIds = new long[mergedStreams.length];
        final Reference<?>[] mergedLives = new Reference<?>[mergedStreams.length];
        int count = 0;
        int mine = 0;
        int theirs = 0;
        while (mine < streams.length || theirs < other.streams.length) {
            final long my = mine < streams.length ? streams[mine] : Long.MAX_VALUE;
            final long their = theirs < other.streams.length ? other.streams[theirs] : Long.MAX_VALUE;
            final Reference<?> life = my <= their ? lives[mine] : other.lives[theirs];
            final long syncId = Math.max(my <= their ? syncIds[mine++] : 0, their <= my ? other.syncIds[theirs++] : 0);
            if (!life.refersTo(null)) {
                mergedStreams[count] = Math.min(my, their);
                mergedSyncIds[count] = syncId;
                mergedLives[count++] = life;
            }
        }
        return new StreamClock(
                Arrays.copyOf(mergedStreams, count),
                Arrays.copyOf(mergedSyncIds, count),
                Arrays.copyOf(mergedLives, count));
    }
}
