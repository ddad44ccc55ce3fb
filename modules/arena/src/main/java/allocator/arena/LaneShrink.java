package allocator.arena;

import allocator.arena.chunk.Region;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.event.DevicePart;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Returns free regions of a lane to the upstream allocator.
 *
 * <p>It notes the regions without chunks in use, waits for the streams that own memory in them, and then returns those
 * of the regions in which nothing was freed in between. It waits under a lock that only shrinks take: work of such a
 * stream may wait for a thread that allocates.
 *
 * <p>What the device does not take back is in the books of the upstream allocator; {@link Lanes#shrink} has it offered
 * again.
 */
final class LaneShrink {
    private final Lane lane;
    private final Lanes lanes;
    private final LaneGrowth growth;

    LaneShrink(Lane lane, Lanes lanes, LaneGrowth growth) {
        this.lane = lane;
        this.lanes = lanes;
        this.growth = growth;
    }

    /**
     * Returns every region without chunks in use, except the one that the configuration keeps; nothing if it is called
     * from within a call by the arena to its upstream allocator or to a stream.
     */
    ShrinkReport shrink() {
        if (lanes.isInDevice()) {
            return report(0, 0);
        }
        synchronized (lanes.shrinkLock) {
            final Map<Region, Long> idle = new LinkedHashMap<>();
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            lane.locked(() -> {
                findIdle(idle, owners);
                return null;
            });
            owners.values().removeIf(StreamWork::await);
            return giveBack(idle, owners);
        }
    }

    private ShrinkReport giveBack(Map<Region, Long> idle, Map<Long, SyncStream> owners) {
        synchronized (lanes.deviceLock) {
            final List<Region> detached = lane.locked(() -> detachUnchanged(idle, owners));
            long released = 0;
            for (final Region region : detached) {
                released += lane.blocks.giveBack(region.base(), DevicePart.REGION) == null ? region.byteSize() : 0;
            }
            lane.compact();
            return report(released, detached.size());
        }
    }

    /** Notes the regions that may be returned, with the number of frees in each, and the streams to wait for. */
    private void findIdle(Map<Region, Long> idle, Map<Long, SyncStream> owners) {
        lane.placement.mergeCached();
        for (final Region region : lane.regions.toList()) {
            if (region.chunksInUse() == 0 && !keeps(region)) {
                idle.put(region, region.frees());
                lane.placement.addOwners(region, owners);
            }
        }
    }

    private boolean keeps(Region region) {
        return region.isFirst()
                && lane.config.keepFirstRegion()
                && lane.config.extendStrategy() == ExtendStrategy.POWER_OF_TWO;
    }

    /**
     * Detaches the regions in which nothing was freed since they were noted: all work on them has been waited for,
     * except that of unfinished streams, whose regions stay. Room is made first, so that no region is lost on the way.
     */
    private List<Region> detachUnchanged(Map<Region, Long> idle, Map<Long, SyncStream> unfinished) {
        final List<Region> detached = new ArrayList<>(idle.size());
        for (final Map.Entry<Region, Long> noted : idle.entrySet()) {
            final Region region = noted.getKey();
            if (region.chunksInUse() == 0 && region.frees() == noted.getValue() && !isOwnedByAny(region, unfinished)) {
                detached.add(region);
            }
        }
        lane.blocks.expect(detached.size());
        for (int i = 0; i < detached.size(); i++) {
            final Region region = detached.get(i);
            lane.placement.detach(region);
            lane.counters.detached();
            lane.blocks.leaves(region.base(), region.byteSize());
        }
        growth.restart();
        assert lane.passesSampledCheck();
        return detached;
    }

    private boolean isOwnedByAny(Region region, Map<Long, SyncStream> streams) {
        if (streams.isEmpty()) {
            return false;
        }
        final Map<Long, SyncStream> owners = new LinkedHashMap<>();
        lane.placement.addOwners(region, owners);
        return owners.keySet().stream().anyMatch(streams::containsKey);
    }

    private ShrinkReport report(long released, int regionsReleased) {
        return lane.report().shrunk(released, regionsReleased, this::staying);
    }

    private List<Held> staying() {
        final Held[] parts = {
            new Held(0, 0, "regions with live blocks"),
            new Held(0, 0, "the first region, which arena.keep_first_region=0 returns"),
            new Held(0, 0, "regions that were used during the shrink, or that a stream may still use")
        };
        for (final Region region : lane.regions.toList()) {
            final int i = region.chunksInUse() > 0 ? 0 : keeps(region) ? 1 : 2;
            parts[i] = new Held(parts[i].bytes() + region.byteSize(), parts[i].regions() + 1, parts[i].reason());
        }
        return List.of(parts);
    }
}
