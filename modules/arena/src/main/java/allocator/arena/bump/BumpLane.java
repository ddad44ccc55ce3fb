package allocator.arena.bump;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * The regions of one stream, or those of requests without a stream. Every region is in one lane and records it; a lane
 * has its current region, and its other ones in order of their room. The room of the current one changes with every
 * block, so it is in no order. Methods that change a lane are called by a thread that has touched its stack.
 */
final class BumpLane {
    /** Above the stamp of every empty region. A region that is not empty has it in the order of room. */
    static final long ANY_STAMP = Long.MAX_VALUE;

    /** {@code null} for the lane of requests without a stream. */
    final @Nullable SyncStream stream;

    /** The region that the lane bumps through; {@code null} if it has none. */
    @Nullable
    BlockRegion current;

    /** The next lane in its chain of {@link StreamLanes}. */
    @Nullable
    BumpLane next;

    private final long byteAlignment;
    private final RegionTree others = new RegionTree();

    BumpLane(@Nullable SyncStream stream, long byteAlignment) {
        this.stream = stream;
        this.byteAlignment = byteAlignment;
    }

    /** Returns the id of the stream, {@code 0} if there is none. */
    long streamId() {
        return stream == null ? 0 : stream.id();
    }

    boolean isOf(SyncStream other) {
        return stream != null && stream.id() == other.id();
    }

    /** Returns whether the stream of a lane has waited for the one of this lane since a free with a stamp. */
    boolean isWaitedForBy(BumpLane lane, long stamp) {
        return stream != null && lane.stream != null && lane.stream.lastWaitedSyncId(stream) > stamp;
    }

    boolean hasEnded() {
        return stream != null && stream.hasEnded();
    }

    /** Adds a region that is in no lane and not the current one of this lane. */
    void add(BlockRegion region) {
        region.lane = this;
        others.add(region.inLane, region.room(byteAlignment), region.isEmpty() ? region.freeStamp : ANY_STAMP);
    }

    /** Adds a region that is in no lane and makes it the current one. */
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

    /** Removes a region of this lane. */
    void remove(BlockRegion region) {
        if (region == current) {
            current = null;
        } else {
            others.remove(region.inLane);
        }
    }

    /** Follows a free that has made a region of this lane empty, so that all of it is room. */
    void emptied(BlockRegion region) {
        if (region != current) {
            others.remove(region.inLane);
            add(region);
        }
    }

    /** Returns the region with the least room that fits a request, without the current one. */
    @Nullable
    BlockRegion smallest(long byteSize) {
        return others.first(byteSize);
    }

    /**
     * Returns the smallest empty region that fits a request, the current one included, in which the last free was
     * before that of a stamp.
     */
    @Nullable
    BlockRegion smallestEmpty(long byteSize, long stampBelow) {
        final BlockRegion other = others.first(byteSize, stampBelow);
        final BlockRegion first = current;
        return first != null && first.isEmpty() && first.freeStamp < stampBelow && first.room(byteAlignment) >= byteSize
                ? BlockRegion.smaller(first, other)
                : other;
    }

    /** Returns how many regions there are besides the current one. */
    int countOthers() {
        return others.count();
    }
}
