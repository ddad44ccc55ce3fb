package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** Adds regions to a lane for requests that no free chunk serves. {@link Growth} decides how large they are. */
final class LaneGrowth {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    private final Lane lane;
    private final Lanes lanes;
    private final Growth growth;

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
        lanes.deviceLock.lock();
        try {
            final long growthBefore;
            final long planned;
            lane.lock.lock();
            try {
                lane.requireOpen();
                final long address = lane.tryTake(byteSize, stream);
                if (address != Placement.NO_ADDRESS) {
                    return address;
                }
                growthBefore = growth.next();
                planned = planRegion(byteSize, stream);
            } finally {
                lane.lock.unlock();
            }
            final Region region = newRegion(planned, byteSize, stream, growthBefore);
            return addRegion(region, byteSize, stream);
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    /** Plans the size of a region and advances growth. Under both locks. */
    private long planRegion(long byteSize, @Nullable SyncStream stream) {
        final LaneReport report = lane.report();
        final long rounded = Granules.roundUp(byteSize);
        final long available = Granules.toBytes(Granules.floor(lanes.heldLimit.available()));
        if (rounded > available) {
            throw report.limitReached(available, byteSize, rounded, stream, false);
        }
        if (rounded > Growth.MAX_REGION || lane.regions.isFull()) {
            throw report.deviceFailed(byteSize, rounded, stream, false, null);
        }
        final long growthBefore = growth.next();
        final long planned = Math.min(growth.plan(rounded), available);
        try {
            lane.placement.prepareRegion(Granules.floor(planned));
        } catch (Throwable e) {
            growth.restore(growthBefore);
            throw e;
        }
        return planned;
    }

    /** Allocates a region of {@code planned} bytes, or a smaller one that holds the request if the device has less. */
    private Region newRegion(long planned, long byteSize, @Nullable SyncStream stream, long growthBefore) {
        final long rounded = Granules.roundUp(byteSize);
        long attempted = planned;
        while (true) {
            try {
                return newRegion(attempted);
            } catch (OutOfMemoryException e) {
                attempted = Growth.afterFailureOf(attempted, rounded);
                if (attempted == 0) {
                    lane.lock.lock();
                    try {
                        throw lane.report().deviceFailed(byteSize, rounded, stream, false, e);
                    } finally {
                        lane.lock.unlock();
                    }
                }
            } catch (Throwable e) {
                lane.lock.lock();
                try {
                    growth.restore(growthBefore);
                } finally {
                    lane.lock.unlock();
                }
                throw e;
            }
        }
    }

    private Region newRegion(long byteSize) {
        final long base = lane.upstream.alloc(byteSize);
        try {
            final Region region = lane.placement.newRegion(base, Granules.floor(byteSize));
            lanes.obtained(base, byteSize);
            lanes.entered(lane, base, byteSize);
            return region;
        } catch (Throwable e) {
            lane.upstream.free(base);
            throw e;
        }
    }

    private long addRegion(Region region, long byteSize, @Nullable SyncStream stream) {
        final long address;
        lane.lock.lock();
        try {
            lane.placement.attach(region);
            lane.counters.extended(region.byteSize());
            address = lane.tryTake(byteSize, stream);
        } finally {
            lane.lock.unlock();
        }
        LOG.log(
                Level.DEBUG,
                "{0}: extended by {1} bytes at 0x{2} for {3} bytes",
                lane.info,
                region.byteSize(),
                Long.toHexString(region.base()),
                byteSize);
        return address;
    }
}
