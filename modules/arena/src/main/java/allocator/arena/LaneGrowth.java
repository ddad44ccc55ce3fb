package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.provider.support.event.DevicePart;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * Adds regions to a lane for requests that no free chunk serves. {@link Growth} decides how large they are.
 *
 * <p>All room that a region needs is made before its memory is taken from the device. What can still fail afterwards is
 * undone: the memory goes back.
 */
final class LaneGrowth {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    private final Lane lane;
    private final Lanes lanes;
    private final Growth growth;

    /** The size of a region to come, and what to restore if none comes. */
    private record Plan(long byteSize, long growthBefore) {}

    LaneGrowth(Lane lane, Lanes lanes) {
        this.lane = lane;
        this.lanes = lanes;
        growth = new Growth(lane.config);
    }

    /** Returns the size that doubling plans next, in bytes. Under the lane's lock. */
    long nextRegionBytes() {
        return growth.next();
    }

    /** Restarts growth, after a shrink. Under the lane's lock. */
    void restart() {
        growth.restart();
    }

    /** Takes a chunk that has become free, or else adds a region and takes a chunk of it. */
    long takeFromNewRegion(long byteSize, @Nullable SyncStream stream) {
        lanes.requireOutsideDevice();
        synchronized (lanes.deviceLock) {
            final long address = take(byteSize, stream);
            if (address != BestFit.NO_ADDRESS) {
                return address;
            }
            return takeFromNewRegion(planRegion(byteSize, stream), byteSize, stream);
        }
    }

    private long take(long byteSize, @Nullable SyncStream stream) {
        lane.lock.lock();
        try {
            lane.begin();
            lane.placement.unbindEnded();
            final long address = lane.tryTake(byteSize, stream);
            lane.placement.step = BestFit.WHOLE;
            return address;
        } finally {
            lane.lock.unlock();
        }
    }

    /** Without a lambda, whose first call may fail for good where the Java heap ends. */
    private Plan planRegion(long byteSize, @Nullable SyncStream stream) {
        lane.lock.lock();
        try {
            lane.begin();
            final Plan plan = planUnderLock(byteSize, stream);
            lane.placement.step = BestFit.WHOLE;
            return plan;
        } finally {
            lane.lock.unlock();
        }
    }

    /** Plans the size of a region and advances growth. Under both locks. */
    private Plan planUnderLock(long byteSize, @Nullable SyncStream stream) {
        final LaneReport report = lane.report();
        final long rounded = Granules.roundUp(byteSize);
        final long available = Granules.toBytes(Granules.floor(lanes.heldLimit.available()));
        if (rounded > available) {
            throw report.limitReached(available, byteSize, rounded, stream, false);
        }
        if (rounded > Growth.MAX_REGION || lane.regions.isFull()) {
            throw report.regionImpossible(byteSize, rounded, stream);
        }
        final long growthBefore = growth.next();
        final Plan plan = new Plan(Math.min(growth.plan(rounded), available), growthBefore);
        try {
            lane.placement.prepareRegion(Granules.floor(plan.byteSize()));
        } catch (Throwable e) {
            growth.restore(growthBefore);
            throw e;
        }
        return plan;
    }

    /** Adds a region of the planned size, or a smaller one that holds the request if the device has less. */
    private long takeFromNewRegion(Plan plan, long byteSize, @Nullable SyncStream stream) {
        final long rounded = Granules.roundUp(byteSize);
        long attempted = plan.byteSize();
        while (true) {
            try {
                return takeFromRegionOf(attempted, byteSize, stream);
            } catch (OutOfMemoryException e) {
                attempted = Growth.afterFailureOf(attempted, rounded);
                if (attempted == 0) {
                    throw lane.report().deviceFailed(byteSize, rounded, stream, false, e);
                }
            } catch (Throwable e) {
                restore(plan.growthBefore());
                throw e;
            }
        }
    }

    private void restore(long growthBefore) {
        lane.lock.lock();
        try {
            growth.restore(growthBefore);
        } finally {
            lane.lock.unlock();
        }
    }

    /** Adds a region of {@code regionBytes} and takes a chunk of it. Under the device lock. */
    private long takeFromRegionOf(long regionBytes, long byteSize, @Nullable SyncStream stream) {
        final Region region = lane.placement.newRegion(Granules.floor(regionBytes));
        final LaneRegions.Room room = lanes.roomFor(lane);
        final long base = lanes.upstream.take(DevicePart.REGION, regionBytes);
        boolean isAttached = false;
        final long address;
        try {
            region.setBase(base);
            lanes.entered(room, base, regionBytes);
            lane.lock.lock();
            try {
                lane.begin();
                lane.placement.prepareRegion(Granules.floor(regionBytes));
                lane.placement.attach(region);
                isAttached = true;
                lane.counters.extended(regionBytes);
                address = lane.tryTake(byteSize, stream);
                lane.placement.step = BestFit.WHOLE;
            } finally {
                lane.lock.unlock();
            }
        } finally {
            if (!isAttached) {
                lanes.upstream.giveBack(base, regionBytes, DevicePart.UNUSED);
            }
        }
        logExtended(region, byteSize);
        return address;
    }

    /** Logs, if that is possible: the caller's memory comes first. */
    private void logExtended(Region region, long byteSize) {
        try {
            LOG.log(
                    Level.DEBUG,
                    "{0}: extended by {1} bytes at 0x{2} for {3} bytes",
                    lane.info,
                    region.byteSize(),
                    Long.toHexString(region.base()),
                    byteSize);
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }
}
