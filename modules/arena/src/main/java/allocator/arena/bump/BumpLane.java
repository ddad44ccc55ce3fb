package allocator.arena.bump;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * The regions of one stream, or those of requests without a stream. A region records its lane; a lane its current
 * region.
 */
final class BumpLane {
    /** {@code null} for the lane of requests without a stream. */
    final @Nullable SyncStream stream;

    /** The region that the lane bumps through; {@code null} if it has none. */
    @Nullable
    BlockRegion current;

    /** The next lane in its chain of {@link StreamLanes}. */
    @Nullable
    BumpLane next;

    BumpLane(@Nullable SyncStream stream) {
        this.stream = stream;
    }

    /** Returns the id of the stream, {@code 0} if there is none. */
    long streamId() {
        return stream == null ? 0 : stream.id();
    }

    boolean isOf(SyncStream other) {
        return stream != null && stream.id() == other.id();
    }

    /** Returns whether work on this lane's stream is ordered after the last free in a region of another stream. */
    boolean hasWaitedFor(BlockRegion region) {
        final SyncStream producer = region.lane == null ? null : region.lane.stream;
        return stream != null && producer != null && stream.lastWaitedSyncId(producer) > region.freeStamp;
    }
}
