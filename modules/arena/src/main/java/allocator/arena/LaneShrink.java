package allocator.arena;

import allocator.arena.chunk.Region;
import allocator.arena.upstream.Failures;
import allocator.arena.upstream.UpstreamReturns;
import allocator.provider.support.LiveSizes;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Returns memory of a lane to the upstream allocator: free regions at a shrink, everything at the close.
 *
 * <p>A shrink notes the regions without chunks in use, waits without the lane's lock for the streams that own memory in
 * them, and then returns those of the regions in which nothing was freed in between.
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

    /** Returns every region without chunks in use, except the one that the configuration keeps. */
    ShrinkReport shrink() {
        lanes.deviceLock.lock();
        try {
            final Map<Region, Long> idle = new LinkedHashMap<>();
            final Set<SyncStream> owners = new LinkedHashSet<>();
            final int kept;
            lane.lock.lock();
            try {
                lane.requireOpen();
                kept = findIdle(idle, owners);
            } finally {
                lane.lock.unlock();
            }
            owners.forEach(LaneShrink::waitFor);
            final List<Region> detached = detachUnchanged(idle);
            final Failures failures = new Failures();
            lane.returns.tryAgain();
            final long released = giveBackRegions(detached, failures);
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
    private int findIdle(Map<Region, Long> idle, Set<SyncStream> owners) {
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

    /** Waits for a stream's work; a closed stream has none. */
    private static void waitFor(SyncStream stream) {
        try {
            stream.flush();
        } catch (IllegalStateException e) {
            LOG.log(Level.DEBUG, "{0} is closed, its work is done", stream);
        }
    }

    /** Detaches the regions in which nothing was freed since they were noted: all work on them has been waited for. */
    private List<Region> detachUnchanged(Map<Region, Long> idle) {
        final List<Region> detached = new ArrayList<>();
        lane.lock.lock();
        try {
            idle.forEach((region, frees) -> {
                if (region.chunksInUse() == 0 && region.frees() == frees) {
                    lane.placement.detach(region);
                    lane.counters.detached();
                    lane.returns.leaves(region.byteSize());
                    detached.add(region);
                }
            });
            lane.growth.restart();
            assert lane.passesSampledCheck();
        } finally {
            lane.lock.unlock();
        }
        return detached;
    }

    private long giveBackRegions(List<Region> detached, Failures failures) {
        long released = 0;
        for (final Region region : detached) {
            lanes.leaving(lane, region.base());
            final RuntimeException failure = lane.returns.giveBack(region.base(), region.byteSize(), true);
            failures.add(failure);
            released += failure == null ? region.byteSize() : 0;
        }
        return released;
    }

    private ShrinkReport report(long released, int regionsReleased, int kept) {
        final ShrinkReport report;
        lane.lock.lock();
        try {
            report = new ShrinkReport(
                    released, regionsReleased, lane.counters.held(), lane.regions.count() - kept, kept);
        } finally {
            lane.lock.unlock();
        }
        LOG.log(Level.DEBUG, "{0}: {1}", lane.info, report);
        return report;
    }

    /** Closes the lane and returns everything, live or not. */
    CloseReport close() {
        lanes.deviceLock.lock();
        try {
            final Set<SyncStream> owners = new LinkedHashSet<>();
            final LiveSizes all = new LiveSizes();
            final CloseReport report;
            lane.lock.lock();
            try {
                if (!lane.markClosed()) {
                    return new CloseReport(0, 0, 0);
                }
                report = emptyInto(all, owners);
            } finally {
                lane.lock.unlock();
            }
            final Failures failures = new Failures();
            owners.forEach(stream -> failures.run(() -> waitFor(stream)));
            all.forEach((address, byteSize) -> failures.run(() -> lane.upstream.free(address)));
            failures.throwIfAny();
            return report;
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    /** Adds all memory held to {@code all}, and the streams to wait for to {@code owners}. */
    private CloseReport emptyInto(LiveSizes all, Set<SyncStream> owners) {
        lane.placement.mergeCached();
        long live = lane.reserves.sizes().count();
        for (final Region region : lane.regions.toList()) {
            live += region.chunksInUse();
            lane.placement.addOwners(region, owners);
            all.put(region.base(), region.byteSize());
        }
        lane.reserves.sizes().forEach(all::put);
        lane.returns.unreturned().forEach(all::put);
        return new CloseReport(live, lane.counters.requested(), all.totalBytes());
    }
}
