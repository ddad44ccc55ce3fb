package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.event.DevicePart;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Regions: allocations of the upstream allocator, added for requests that no free chunk serves, and returned by a
 * shrink. {@link Growth} decides how large they are.
 *
 * <p>All room that a region needs is made before its memory is taken from the device. What can still fail afterwards is
 * undone: the memory goes back.
 *
 * <p>A shrink notes the regions without chunks in use, waits for the streams that own memory in them, and then returns
 * those of the regions in which nothing was freed in between. It waits under a lock that only shrinks take: work of
 * such a stream may wait for a thread that allocates. What the device does not take back is in the books of the
 * upstream allocator; {@link Lanes#shrink} has it offered again.
 */
final class RegionSupply extends Supply {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    /** Changed under both locks. */
    private final Growth growth;

    RegionSupply(Lane lane) {
        super(lane);
        growth = new Growth(lane.config);
    }

    @Override
    long allocate(long byteSize, @Nullable SyncStream stream) {
        lanes.requireOutsideDevice();
        synchronized (lanes.deviceLock) {
            final long address = take(byteSize, stream);
            return address == BestFit.NO_ADDRESS ? takeFromNewRegion(byteSize, stream) : address;
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

    /** Adds a region of the planned size, or a smaller one that holds the request if the device has less. */
    private long takeFromNewRegion(long byteSize, @Nullable SyncStream stream) {
        final long rounded = Granules.roundUp(byteSize);
        final long growthBefore = growth.next();
        try {
            long attempted = planRegion(byteSize, rounded, stream);
            while (true) {
                try {
                    return takeFromRegionOf(attempted, byteSize, stream);
                } catch (OutOfMemoryException e) {
                    attempted = Growth.afterFailureOf(attempted, rounded);
                    if (attempted == 0) {
                        throw lane.report().deviceFailed(byteSize, rounded, stream, false, e);
                    }
                }
            }
        } catch (OutOfMemoryException e) {
            throw e;
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

    /**
     * Plans the size of a region, makes room for it, and advances growth. Without a lambda, whose first call may fail
     * for good where the Java heap ends.
     */
    private long planRegion(long byteSize, long rounded, @Nullable SyncStream stream) {
        lane.lock.lock();
        try {
            lane.begin();
            final long available = Granules.toBytes(Granules.floor(lanes.heldLimit.available()));
            if (rounded > available) {
                throw lane.report().limitReached(available, byteSize, rounded, stream, false);
            }
            if (rounded > Growth.MAX_REGION || lane.regions.isFull()) {
                throw lane.report().regionImpossible(byteSize, rounded, stream);
            }
            final long planned = Math.min(growth.plan(rounded), available);
            lane.placement.prepareRegion(Granules.floor(planned));
            lane.placement.step = BestFit.WHOLE;
            return planned;
        } finally {
            lane.lock.unlock();
        }
    }

    /** Adds a region of {@code regionBytes} and takes a chunk of it. Under the device lock. */
    private long takeFromRegionOf(long regionBytes, long byteSize, @Nullable SyncStream stream) {
        final Region region = lane.placement.newRegion(Granules.floor(regionBytes));
        final LaneRegions room = lanes.roomFor(lane);
        final long base = lanes.upstream.take(DevicePart.REGION, regionBytes);
        boolean isAttached = false;
        final long address;
        try {
            region.setBase(base);
            lanes.entered(room, lane, base, regionBytes);
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

    /** {@inheritDoc} Every region without chunks in use is returned, except the one that the configuration keeps. */
    @Override
    ShrinkReport shrinkAlone() {
        final Map<Region, Long> idle = new LinkedHashMap<>();
        final Map<Long, SyncStream> owners = new LinkedHashMap<>();
        lane.locked(() -> {
            findIdle(idle, owners);
            return null;
        });
        owners.values().removeIf(StreamWork::await);
        return giveBack(idle, owners);
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
        lane.placement.dissolve();
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

    @Override
    List<Held> staying() {
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

    @Override
    long heldBytes(ConsistencyCheck check) {
        return check.regionBytes();
    }

    @Override
    long nextRegionBytes() {
        return growth.next();
    }

    @Override
    long largestFree() {
        return Granules.toBytes(lane.placement.largest());
    }

    @Override
    long largestFree(@Nullable SyncStream stream) {
        return Granules.toBytes(lane.placement.largestFor(stream));
    }

    /** {@inheritDoc} Regions are among the lane's blocks from then on. */
    @Override
    void leave() {
        for (int i = 0; i < lane.regions.count(); i++) {
            final Region region = lane.regions.at(i);
            lane.blocks.leaves(region.base(), region.byteSize());
        }
    }
}
