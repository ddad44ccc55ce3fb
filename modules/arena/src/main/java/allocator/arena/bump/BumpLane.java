package allocator.arena.bump;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** The regions of one stream, or those of requests without a stream. One without room is in no list. */
final class BumpLane {
    /** Above the stamp of every free. */
    private static final long ANY_STAMP = Long.MAX_VALUE;

    /** {@code null} for the lane of requests without a stream. */
    final @Nullable SyncStream stream;

    final RegionList empty = new RegionList();

    /** Regions with blocks and with room, the one that was left last first. */
    final RegionList partlyUsed = new RegionList();

    /** The region that the lane bumps through; {@code null} if it has none. */
    @Nullable
    BlockRegion current;

    BumpLane(@Nullable SyncStream stream) {
        this.stream = stream;
    }

    /** Returns the id of the stream, {@code 0} if there is none. */
    long streamId() {
        return stream == null ? 0 : stream.id();
    }

    /** Returns whether a stream has waited for this one's since a stamp. */
    boolean isWaitedForBy(@Nullable SyncStream requester, long stamp) {
        return requester != null && stream != null && requester.lastWaitedSyncId(stream) > stamp;
    }

    /** Puts a region, of this lane or of another, first in its list. */
    void put(BlockRegion region) {
        if (region.lane == this) {
            region.leaveList();
        } else {
            region.leaveLane();
            region.lane = this;
        }
        if (region.isEmpty()) {
            empty.add(region);
        } else if (region.room() > 0) {
            partlyUsed.add(region);
        }
    }

    /** Has no current region from now on. */
    void leaveCurrent() {
        final BlockRegion left = current;
        current = null;
        if (left != null) {
            put(left);
        }
    }

    /** Returns a small empty region that fits a request; {@code null} if none does. */
    @Nullable
    BlockRegion emptyFor(long byteSize) {
        return empty.find(byteSize, ANY_STAMP, true);
    }

    /** As {@link #emptyFor(long)}, for a stream, which has waited for this lane's since the last free in the region. */
    @Nullable
    BlockRegion emptyFor(long byteSize, SyncStream requester) {
        return stream == null || emptyFor(byteSize) == null
                ? null
                : empty.find(byteSize, requester.lastWaitedSyncId(stream), true);
    }

    /** Returns a region with blocks that fits a request, of the last ones or of all; {@code null} if none does. */
    @Nullable
    BlockRegion partlyUsedFor(long byteSize, boolean ofAll) {
        return partlyUsed.find(byteSize, ANY_STAMP, ofAll);
    }
}
