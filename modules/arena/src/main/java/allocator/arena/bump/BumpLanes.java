package allocator.arena.bump;

import allocator.provider.support.FailedReturn;
import allocator.provider.support.Failures;
import allocator.provider.support.StackReserve;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of a {@link BumpAllocator} and their regions. Decides which region serves a request and when a region
 * passes from one lane to another.
 *
 * <p>A region is <em>idle</em> if any lane may take it: it belongs to no lane, or it is empty and belongs to the lane
 * without a stream, on whose behalf no device work is queued.
 *
 * <p>Not safe for use by several threads; the allocator's lock guards it.
 */
final class BumpLanes {
    /** The lane of requests without a stream. */
    final BumpLane common = new BumpLane(null);

    private final UpstreamMemory memory;
    private final BumpConfig config;
    private final long byteAlignment;
    private final RegionChain<BlockRegion> regions;
    private final StreamLanes streamLanes = new StreamLanes();
    private BumpLane lastLane = common;

    /** Bytes in regions for one request. */
    private long bytesForOneRequest;

    private long numReleased;

    BumpLanes(UpstreamMemory memory, BumpConfig config) {
        this.memory = memory;
        this.config = config;
        this.byteAlignment = memory.info().byteAlignment();
        this.regions = RegionChain.inOrderOfAddress(memory);
    }

    int countRegions() {
        return regions.count();
    }

    int countRegionsInUse() {
        int inUse = 0;
        for (int index = 0; index < regions.count(); index++) {
            inUse += regions.get(index).isEmpty() ? 0 : 1;
        }
        return inUse;
    }

    /** Returns how many regions the upstream allocator has taken back at the first attempt. */
    long numReleased() {
        return numReleased;
    }

    /** Returns the largest request that a region fits. */
    long largestRoom() {
        long largest = 0;
        for (int index = 0; index < regions.count(); index++) {
            largest = Math.max(largest, regions.get(index).room(byteAlignment));
        }
        return largest;
    }

    /** Returns the lane of a stream, a new one if it has none. */
    BumpLane laneOf(SyncStream stream) {
        if (lastLane.isOf(stream)) {
            return lastLane;
        }
        BumpLane lane = streamLanes.find(stream);
        if (lane == null) {
            lane = streamLanes.add(stream);
        }
        lastLane = lane;
        return lane;
    }

    /**
     * Returns a region that fits a request of a lane, of the kinds and in the order that {@link BumpAllocator} states;
     * {@code null} if the limit or the device has no memory for it. What the device fails to take back is tried again
     * by the next shrink.
     */
    @Nullable
    BlockRegion regionFor(long byteSize, BumpLane lane) {
        StackReserve.touch();
        final BlockRegion own = smallest(byteSize, region -> region.lane == lane);
        final BlockRegion held = own != null ? own : smallest(byteSize, region -> mayTake(lane, region));
        if (held != null) {
            leave(held);
            held.lane = lane;
            lane.current = held;
            return held;
        }
        final BlockRegion taken = extend(byteSize, lane);
        return taken == null && releaseIdle(new Failures()) > 0 ? extend(byteSize, lane) : taken;
    }

    /** Makes a region no longer the current one of its lane. */
    private static void leave(BlockRegion region) {
        if (region.lane != null && region.lane.current == region) {
            region.lane.current = null;
        }
    }

    /** Returns the eligible region with the least room that fits a request. */
    private @Nullable BlockRegion smallest(long byteSize, Predicate<BlockRegion> isEligible) {
        BlockRegion best = null;
        long leastRoom = Long.MAX_VALUE;
        for (int index = 0; index < regions.count(); index++) {
            final BlockRegion region = regions.get(index);
            final long room = region.room(byteAlignment);
            if (room >= byteSize && room < leastRoom && isEligible.test(region)) {
                best = region;
                leastRoom = room;
            }
        }
        return best;
    }

    private boolean isIdle(BlockRegion region) {
        return region.lane == null || (region.lane == common && region.isEmpty());
    }

    private boolean mayTake(BumpLane lane, BlockRegion region) {
        return isIdle(region) || (region.isEmpty() && lane.hasWaitedFor(region));
    }

    private @Nullable BlockRegion extend(long byteSize, BumpLane lane) {
        final long chained = regions.byteSize() - bytesForOneRequest;
        final long size = config.nextRegionBytes(byteSize, chained, memory.left());
        if (size > 0) {
            final BlockRegion region = take(size, lane, false);
            if (region != null) {
                lane.current = region;
                return region;
            }
        }
        return take(byteSize, lane, true);
    }

    private @Nullable BlockRegion take(long byteSize, BumpLane lane, boolean isForOneRequest) {
        if (byteSize > memory.left()) {
            return null;
        }
        final BlockRegion region = new BlockRegion(byteSize, lane, isForOneRequest);
        try {
            regions.add(region);
        } catch (OutOfMemoryException e) {
            return null;
        }
        if (isForOneRequest) {
            bytesForOneRequest += byteSize;
        }
        return region;
    }

    /** Returns the index of the region that contains an address; a negative number if none does. */
    int search(long address) {
        return regions.search(address);
    }

    BlockRegion get(int index) {
        return regions.get(index);
    }

    /**
     * Frees the block at an address in a region. Memory for one request goes back to the upstream allocator with its
     * last block, unless a stream may still use it.
     *
     * @throws InvalidFreeException if no live block starts there
     * @throws DeviceException if the upstream allocator fails to take the memory back; the block is freed
     */
    void free(int index, long address, BumpCounters counters) {
        final BlockRegion region = regions.get(index);
        final SyncStream stream = region.lane == null ? null : region.lane.stream;
        final long stamp = stream == null ? region.freeStamp : stream.syncId();
        if (!region.isForOneRequest || region.lane != common) {
            region.free(address, stamp, counters);
            return;
        }
        memory.prepareReturns(1);
        region.free(address, stamp, counters);
        if (region.isEmpty() && !memory.isInUpstream()) {
            final Throwable failure = release(index);
            if (failure != null) {
                throw FailedReturn.of(failure);
            }
        }
    }

    /**
     * Gives a region back, after {@link UpstreamMemory#prepareReturns}. Returns whatever the upstream allocator threw.
     */
    private @Nullable Throwable release(int index) {
        final BlockRegion region = regions.get(index);
        leave(region);
        if (region.isForOneRequest) {
            bytesForOneRequest -= region.byteSize;
        }
        final Throwable failure = regions.release(index);
        if (failure == null) {
            numReleased++;
        }
        return failure;
    }

    /**
     * Gives all idle regions back, and the unreturned memory. Whatever the upstream allocator throws is added to
     * {@code failures}.
     *
     * @return the number of regions
     */
    int releaseIdle(Failures failures) {
        if (memory.isInUpstream()) {
            return 0;
        }
        memory.returnAgain(failures);
        return releaseIf(this::isIdle, failures);
    }

    /** Gives all regions back. Whatever the upstream allocator throws is added to {@code failures}. */
    void releaseAll(Failures failures) {
        releaseIf(region -> true, failures);
    }

    /** Gives regions back; none in a call back from the upstream allocator, after which they are idle still. */
    private int releaseIf(Predicate<BlockRegion> isOver, Failures failures) {
        if (memory.isInUpstream()) {
            return 0;
        }
        memory.prepareReturns(regions.count());
        int released = 0;
        for (int index = regions.count() - 1; index >= 0; index--) {
            if (isOver.test(regions.get(index))) {
                failures.add(release(index));
                released++;
            }
        }
        return released;
    }

    /**
     * Makes the empty regions of a stream idle.
     *
     * @throws DeviceException if the upstream allocator fails to take memory back
     */
    void endRun(SyncStream stream) {
        final BumpLane lane = streamLanes.find(stream);
        if (lane != null) {
            StackReserve.touch();
            unbindEmpty(lane);
        }
    }

    /**
     * Removes the lane of a stream: its empty regions become idle, the others go to the lane without a stream.
     *
     * @throws DeviceException if the upstream allocator fails to take memory back
     */
    void releaseStream(SyncStream stream) {
        final BumpLane lane = streamLanes.find(stream);
        if (lane == null) {
            return;
        }
        StackReserve.touch();
        streamLanes.remove(lane);
        lastLane = common;
        for (int index = 0; index < regions.count(); index++) {
            final BlockRegion region = regions.get(index);
            if (region.lane == lane && !region.isEmpty()) {
                region.lane = common;
            }
        }
        unbindEmpty(lane);
    }

    private void unbindEmpty(BumpLane lane) {
        for (int index = 0; index < regions.count(); index++) {
            final BlockRegion region = regions.get(index);
            if (region.lane == lane && region.isEmpty()) {
                region.lane = null;
            }
        }
        lane.current = null;
        final Failures failures = new Failures();
        releaseIf(region -> region.lane == null && region.isForOneRequest, failures);
        failures.throwIfAny();
    }
}
