package allocator.arena;

import allocator.arena.chunk.Region;
import allocator.arena.upstream.StreamWork;
import allocator.arena.upstream.UpstreamReturns;
import allocator.provider.support.Failures;
import allocator.provider.support.StackReserve;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
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
 * <p>Memory that cannot be returned stays counted as held, is not used again and is listed by snapshots; the next
 * shrink and the close try again. See {@link UpstreamReturns}.
 */
final class LaneShrink {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    private final Lane lane;
    private final Lanes lanes;

    LaneShrink(Lane lane, Lanes lanes) {
        this.lane = lane;
        this.lanes = lanes;
    }

    /**
     * Returns every region without chunks in use, except the one that the configuration keeps; nothing if it is called
     * from within a call by the arena to its upstream allocator or to a stream.
     */
    ShrinkReport shrink() {
        StackReserve.touch();
        if (lanes.isInDevice()) {
            return lane.locked(() -> new ShrinkReport(0, 0, lane.counters.held(), lane.regions.count(), 0));
        }
        lanes.shrinkLock.lock();
        try {
            final Map<Region, Long> idle = new LinkedHashMap<>();
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            final int kept = lane.locked(() -> findIdle(idle, owners));
            owners.values().removeIf(StreamWork::await);
            return giveBack(idle, owners, kept);
        } finally {
            lanes.shrinkLock.unlock();
        }
    }

    private ShrinkReport giveBack(Map<Region, Long> idle, Map<Long, SyncStream> owners, int kept) {
        lanes.deviceLock.lock();
        try {
            lane.returns.tryAgain();
            final List<Region> detached = lane.locked(() -> detachUnchanged(idle, owners));
            final Failures failures = new Failures();
            long released = 0;
            for (final Region region : detached) {
                final Throwable failure = lane.returns.giveBack(region.base(), true);
                failures.add(failure);
                released += failure == null ? region.byteSize() : 0;
            }
            compact();
            failures.throwIfAny();
            return report(released, detached.size(), kept);
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    /**
     * Notes the regions that may be returned, with the number of frees in each, and the streams to wait for. Returns
     * the number of idle regions that stay.
     */
    private int findIdle(Map<Region, Long> idle, Map<Long, SyncStream> owners) {
        lane.placement.mergeCached();
        int kept = 0;
        for (final Region region : lane.regions.toList()) {
            if (region.chunksInUse() == 0) {
                if (keeps(region)) {
                    kept++;
                } else {
                    idle.put(region, region.frees());
                    lane.placement.addOwners(region, owners);
                }
            }
        }
        return kept;
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
        lane.returns.ensureRoom(detached.size());
        for (int i = 0; i < detached.size(); i++) {
            final Region region = detached.get(i);
            lane.placement.detach(region);
            lane.counters.detached();
            lane.returns.leaves(region.base(), region.byteSize());
        }
        lane.growth.restart();
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

    /** Gives back Java heap, unless there is too little to do so: the tables stay as large as they are then. */
    private void compact() {
        try {
            lane.locked(() -> {
                lane.placement.compact();
                lane.reserves.sizes().ensureRoom();
                lane.returns.ensureRoom(0);
                assert lane.passesSampledCheck();
                return null;
            });
        } catch (OutOfMemoryError e) {
            // The next shrink tries again.
        }
    }

    private ShrinkReport report(long released, int regionsReleased, int kept) {
        final ShrinkReport report = lane.locked(() ->
                new ShrinkReport(released, regionsReleased, lane.counters.held(), lane.regions.count() - kept, kept));
        LOG.log(Level.DEBUG, "{0}: {1}", lane.info, report);
        return report;
    }
}
