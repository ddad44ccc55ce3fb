package allocator.arena;

import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Repair;
import allocator.provider.support.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Regions: allocations of the upstream allocator. {@link LaneGrowth} adds them, {@link LaneShrink} returns those that
 * are free.
 */
final class RegionSupply implements LaneSupply {
    private static final Repair.Live NOTHING = new Repair.Live(0, 0);

    private final Lane lane;
    private final LaneGrowth growth;
    private final LaneShrink shrink;

    RegionSupply(Lane lane, Lanes lanes) {
        this.lane = lane;
        growth = new LaneGrowth(lane, lanes);
        shrink = new LaneShrink(lane, lanes, growth);
    }

    @Override
    public long allocate(long byteSize, @Nullable SyncStream stream) {
        return growth.takeFromNewRegion(byteSize, stream);
    }

    @Override
    public ShrinkReport shrink() {
        return shrink.shrink();
    }

    @Override
    public Repair.Live repair() {
        return lane.placement.repair();
    }

    @Override
    public Repair.Live unfinished() {
        return NOTHING;
    }

    @Override
    public long heldBytes(ConsistencyCheck check) {
        return check.regionBytes();
    }

    @Override
    public long nextRegionBytes() {
        return growth.nextRegionBytes();
    }

    @Override
    public long largestFree() {
        return Granules.toBytes(lane.placement.largest());
    }

    @Override
    public long largestFree(@Nullable SyncStream stream) {
        return Granules.toBytes(lane.placement.largestFor(stream));
    }

    @Override
    public boolean isBacked(long address) {
        return true;
    }

    @Override
    public long pending(long address) {
        return NO_STREAM;
    }

    @Override
    public long sameBacking(long address, long end) {
        return end;
    }

    @Override
    public List<AllocatorStats.Counter> ownCounters() {
        return List.of();
    }

    @Override
    public void compact() {}

    @Override
    public void addOwners(Map<Long, SyncStream> owners) {}

    /** {@inheritDoc} Regions are among the lane's returns from then on. */
    @Override
    public void leave() {
        for (int i = 0; i < lane.regions.count(); i++) {
            final Region region = lane.regions.at(i);
            lane.blocks.leaves(region.base(), region.byteSize());
        }
    }

    @Override
    public void giveBack(Failures failures) {}
}
