package allocator.spi;

import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * What is known of streams: for each the highest sync id waited for, a vector clock. Immutable, so that it is read
 * without a lock and passed on without a copy; a search makes no objects.
 *
 * <p>A merge leaves out the streams about which nobody can ask any more, or whose answer is known without: those that
 * have ended, and those that nobody refers to. So a clock is as large as the number of streams that are in use, however
 * many there were.
 */
final class StreamClock {
    static final StreamClock EMPTY = new StreamClock(new long[0], new long[0], new Reference<?>[0]);

    /** The ids of the streams, rising. */
    private final long[] streams;

    private final long[] syncIds;

    /** Of each stream its {@link SyncStream#life}, cleared when it has ended. */
    private final Reference<?>[] lives;

    private StreamClock(long[] streams, long[] syncIds, Reference<?>[] lives) {
        this.streams = streams;
        this.syncIds = syncIds;
        this.lives = lives;
    }

    /** The sync id that is known of a stream, 0 if none is. */
    long syncId(long stream) {
        final int index = Arrays.binarySearch(streams, stream);
        return index < 0 ? 0 : syncIds[index];
    }

    /** Of how many streams something is known. */
    int size() {
        return streams.length;
    }

    /** This, and of {@code stream} at least {@code syncId}. */
    StreamClock with(SyncStream stream, long syncId) {
        return merge(
                new StreamClock(new long[] {stream.id()}, new long[] {syncId}, new Reference<?>[] {stream.life()}));
    }

    /** All that one of the two knows. */
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
