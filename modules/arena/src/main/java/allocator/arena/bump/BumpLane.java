package allocator.arena.bump;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** The regions of one stream, or those of requests without a stream. */
final class BumpLane {
    /** Above the stamp of every free. */
    static final long ANY_STAMP = Long.MAX_VALUE;

    /** {@code null} for the lane of requests without a stream. */
    final @Nullable SyncStream stream;

    /** Empty regions, the smallest first. */
    final RegionList empty = new RegionList();

    /** Regions with blocks and with room, the one that was left last first. */
    final RegionList partlyUsed = new RegionList();

    /** Regions with blocks and without room. */
    final RegionList full = new RegionList();

    private final long byteAlignment;

    /** The region that the lane bumps through, which is in no list; {@code null} if it has none. */
    private @Nullable BlockRegion current;

    BumpLane(@Nullable SyncStream stream, long byteAlignment) {
        this.stream = stream;
        this.byteAlignment = byteAlignment;
    }

    @Nullable
    BlockRegion current() {
        return current;
    }

    /** Returns the id of the stream, {@code 0} if there is none. */
    long streamId() {
        return stream == null ? 0 : stream.id();
    }

    boolean hasEnded() {
        return stream != null && stream.hasEnded();
    }

    /** Returns whether a stream has waited for this one's since a stamp. */
    boolean isWaitedForBy(@Nullable SyncStream requester, long stamp) {
        return requester != null && stream != null && requester.lastWaitedSyncId(stream) > stamp;
    }

    /** Adds a region that is in no list and not the current one of this lane. */
    void add(BlockRegion region) {
        region.lane = this;
        if (region.isEmpty()) {
            empty.addBySize(region);
        } else if (region.room(byteAlignment) > 0) {
            partlyUsed.addFirst(region);
        } else {
            full.addFirst(region);
        }
    }

    /** Makes a region that is in no list the current one. */
    void use(BlockRegion region) {
        leaveCurrent();
        region.lane = this;
        current = region;
    }

    /** Has no current region from now on. */
    void leaveCurrent() {
        final BlockRegion left = current;
        if (left != null) {
            current = null;
            add(left);
        }
    }

    /**
     * Returns the smallest empty region that fits a request, the current one included, in which the last free was
     * before that of a stamp.
     */
    @Nullable
    BlockRegion smallestEmpty(long byteSize, long stampBelow) {
        BlockRegion region = empty.first();
        while (region != null && (region.byteSize < byteSize || region.freeStamp >= stampBelow)) {
            region = region.after;
        }
        final BlockRegion left = current;
        final boolean isCurrent = left != null
                && left.isEmpty()
                && left.byteSize >= byteSize
                && left.freeStamp < stampBelow
                && (region == null || left.byteSize <= region.byteSize);
        return isCurrent ? left : region;
    }

    /** Removes a region of this lane. */
    void remove(BlockRegion region) {
        if (region == current) {
            current = null;
        } else {
            region.leaveList();
        }
    }
}
