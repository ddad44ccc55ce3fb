package allocator.arena.bump;

import allocator.provider.support.Failures;
import allocator.provider.support.StackReserve;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of a {@link BumpAllocator}. Decides which region serves a request and when a region passes from one lane to
 * another.
 *
 * <p>A region is <em>idle</em> if any lane may take it: it is <em>unbound</em>, that is, in no lane of a requester, or
 * it is empty and in the lane without a stream, on whose behalf no device work is queued.
 *
 * <p>Lanes find their regions in trees, so nothing but {@link #releaseAll}, {@link #report} and {@link #largestRoom}
 * visits all regions. Only a request for which there is no memory visits all lanes, and a new stream whenever the
 * number of streams has doubled: to unbind memory of streams that ended without a release.
 *
 * <p>Not safe for use by several threads; the allocator's lock guards it.
 */
final class BumpLanes {
    /** The lane of requests without a stream. */
    final BumpLane common;

    /** Has the unbound regions, all of them empty. It has no current region: nothing is allocated from it. */
    private final BumpLane unbound;

    /** The same for unbound regions that were taken for one request and go back at the next end of a run. */
    private final BumpLane unboundForOneRequest;

    private final UpstreamMemory memory;
    private final long byteAlignment;
    private final BlockRegions regions;
    private final StreamLanes streamLanes;
    private BumpLane lastLane;

    BumpLanes(UpstreamMemory memory, BumpConfig config) {
        this.memory = memory;
        byteAlignment = memory.info().byteAlignment();
        regions = new BlockRegions(memory, config);
        streamLanes = new StreamLanes(byteAlignment);
        common = new BumpLane(null, byteAlignment);
        unbound = new BumpLane(null, byteAlignment);
        unboundForOneRequest = new BumpLane(null, byteAlignment);
        lastLane = common;
    }

    int countRegions() {
        return regions.count();
    }

    /** Describes each region, in order of address. */
    List<Region> inspect() {
        return regions.inspect();
    }

    /** Reports what a shrink returned, and what stays and why. */
    ShrinkReport report(long bytesReleased, int regionsReleased) {
        final int inUse = regions.countInUse();
        final int empty = regions.count() - inUse;
        final long held = memory.bytesHeld();
        final long live = regions.bytes(true);
        final long idle = regions.bytes(false);
        final String others = "reserves, and what the device failed to take back, which the next shrink returns";
        final List<ShrinkReport.Held> parts = Stream.of(
                        new ShrinkReport.Held(live, inUse, "regions with live blocks"),
                        new ShrinkReport.Held(idle, empty, "regions that a stream may still use until its run ends"),
                        new ShrinkReport.Held(held - live - idle, 0, others))
                .filter(part -> part.bytes() > 0)
                .toList();
        return new ShrinkReport(bytesReleased, regionsReleased, held, inUse, empty, parts);
    }

    /** Returns how many regions the upstream allocator has taken back at the first attempt. */
    long numReleased() {
        return regions.numReleased();
    }

    /** Returns the largest request of any lane that a region fits. */
    long largestRoom() {
        return regions.largestRoom(byteAlignment, _ -> true);
    }

    /** Returns the largest request of a lane that a region fits which it may use. */
    long largestRoom(BumpLane lane) {
        return regions.largestRoom(byteAlignment, region -> isUsable(region, lane));
    }

    private boolean isUsable(BlockRegion region, BumpLane lane) {
        final BumpLane owner = region.lane;
        return owner == lane
                || owner == unbound
                || owner == unboundForOneRequest
                || (region.isEmpty() && (owner == common || owner.isWaitedForBy(lane, region.freeStamp)));
    }

    /** Returns the lane of a stream, a new one if it has none. */
    BumpLane laneOf(SyncStream stream) {
        if (lastLane.isOf(stream)) {
            return lastLane;
        }
        BumpLane lane = streamLanes.find(stream);
        if (lane == null) {
            lane = addLane(stream);
        }
        lastLane = lane;
        return lane;
    }

    private BumpLane addLane(SyncStream stream) {
        if (streamLanes.isFull()) {
            StackReserve.touch();
            releaseEnded(common);
            streamLanes.grow();
        }
        return streamLanes.add(stream);
    }

    /**
     * Allocates and counts a block of a lane in another region than its current one, of the kinds and in the order that
     * {@link BumpAllocator} states. What the device fails to take back is tried again by the next shrink.
     *
     * @return the block's address; {@code 0} if the limit or the device has no memory for it
     */
    long allocate(long byteSize, BumpLane lane, BumpCounters counters) {
        StackReserve.touch();
        final BlockRegion held = heldFor(byteSize, lane);
        if (held != null) {
            held.lane.remove(held);
            lane.use(held);
            return held.bump(byteSize, byteAlignment, counters);
        }
        final long address = allocateInNew(byteSize, lane, counters);
        return address == 0 && relieve(lane) > 0 ? allocateInNew(byteSize, lane, counters) : address;
    }

    /** Returns the region with the least room that fits a request: of its lane, or else any that it may take. */
    private @Nullable BlockRegion heldFor(long byteSize, BumpLane lane) {
        final BlockRegion own = lane.smallest(byteSize);
        if (own != null) {
            return own;
        }
        final BlockRegion free =
                BlockRegion.smaller(unbound.smallest(byteSize), unboundForOneRequest.smallest(byteSize));
        final BlockRegion idle = BlockRegion.smaller(free, common.smallestEmpty(byteSize, BumpLane.ANY_STAMP));
        return lane.stream == null ? idle : BlockRegion.smaller(idle, streamLanes.smallestFor(byteSize, lane.stream));
    }

    private long allocateInNew(long byteSize, BumpLane lane, BumpCounters counters) {
        final BlockRegion region = regions.take(byteSize, lane);
        if (region == null) {
            return 0;
        }
        if (!region.isForOneRequest) {
            lane.use(region);
            return region.bump(byteSize, byteAlignment, counters);
        }
        final long address = region.bump(byteSize, byteAlignment, counters);
        lane.add(region);
        return address;
    }

    /** Gives back what is idle and what streams that have ended had, before a request fails for a lane. */
    private int relieve(BumpLane lane) {
        if (!memory.isInUpstream()) {
            StackReserve.touch();
            releaseEnded(lane);
        }
        return releaseIdle(new Failures());
    }

    /** Returns the region that contains an address; {@code null} if none does. */
    @Nullable
    BlockRegion find(long address) {
        return regions.find(address);
    }

    /**
     * Frees the block at an address in a region. Memory for one request goes back to the upstream allocator with its
     * last block, unless a stream may still use it.
     *
     * @throws InvalidFreeException if no live block starts there
     * @throws DeviceException if the upstream allocator fails to take the memory back; the block is freed
     */
    void free(BlockRegion region, long address, BumpCounters counters) {
        final BumpLane lane = region.lane;
        final SyncStream stream = lane.stream;
        final long stamp = stream == null ? region.freeStamp : stream.syncId();
        if (region.isForOneRequest && lane == common) {
            freeForOneRequest(region, address, stamp, counters);
        } else if (region == lane.current || !region.hasOneBlock()) {
            region.free(address, stamp, counters);
        } else {
            StackReserve.touch();
            region.free(address, stamp, counters);
            lane.emptied(region);
        }
    }

    /** Frees a block of a region of the lane without a stream that was taken for one request. */
    private void freeForOneRequest(BlockRegion region, long address, long stamp, BumpCounters counters) {
        memory.prepareReturns(1);
        region.free(address, stamp, counters);
        if (region.isEmpty() && !memory.isInUpstream()) {
            release(region);
        } else if (region.isEmpty()) {
            common.emptied(region);
        }
    }

    /**
     * Gives a region back, after {@link UpstreamMemory#prepareReturns}. Returns whatever the upstream allocator threw.
     */
    private @Nullable Throwable release(BlockRegion region) {
        region.lane.remove(region);
        return regions.release(region);
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
        StackReserve.touch();
        unbindEmpty(common);
        return releaseUnbound(unbound, failures) + releaseUnbound(unboundForOneRequest, failures);
    }

    /**
     * Gives all regions back, after {@link UpstreamMemory#prepareReturns}. Whatever the upstream allocator throws is
     * added to {@code failures}.
     */
    void releaseAll(Failures failures) {
        for (BlockRegion region = regions.last(); region != null; region = regions.last()) {
            failures.add(release(region));
        }
        memory.endReturns();
    }

    /** Gives unbound regions back; none in a call back from the upstream allocator, after which they are unbound. */
    private int releaseUnbound(BumpLane lane, Failures failures) {
        final int count = lane.countOthers();
        if (count == 0 || memory.isInUpstream()) {
            return 0;
        }
        memory.prepareReturns(count);
        int released = 0;
        BlockRegion region = lane.smallest(0);
        while (region != null && released < count) { // a call back may bind some and unbind others
            failures.add(release(region));
            released++;
            region = lane.smallest(0);
        }
        memory.endReturns();
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
            lane.leaveCurrent();
            releaseForOneRequest();
        }
    }

    /**
     * Removes the lane of a stream: its empty regions become idle, the others go to the lane without a stream.
     *
     * @throws DeviceException if the upstream allocator fails to take memory back
     */
    void releaseStream(SyncStream stream) {
        final BumpLane lane = streamLanes.find(stream);
        if (lane != null) {
            StackReserve.touch();
            streamLanes.remove(lane);
            lastLane = common;
            unbindAll(lane);
            releaseForOneRequest();
        }
    }

    /** Returns the streams that have a lane. */
    List<SyncStream> streams() {
        return streamLanes.streams();
    }

    /** Removes the lanes of streams that have ended and were not released, but for one lane. */
    private void releaseEnded(BumpLane kept) {
        lastLane = common;
        BumpLane lane = streamLanes.takeEnded(kept);
        while (lane != null) {
            unbindAll(lane);
            lane = lane.next;
        }
    }

    private void unbindAll(BumpLane lane) {
        unbindEmpty(lane);
        lane.leaveCurrent();
        BlockRegion region = lane.smallest(0);
        while (region != null) {
            lane.remove(region);
            common.add(region);
            region = lane.smallest(0);
        }
    }

    private void unbindEmpty(BumpLane lane) {
        BlockRegion region = lane.smallestEmpty(0, BumpLane.ANY_STAMP);
        while (region != null) {
            lane.remove(region);
            (region.isForOneRequest ? unboundForOneRequest : unbound).add(region);
            region = lane.smallestEmpty(0, BumpLane.ANY_STAMP);
        }
    }

    private void releaseForOneRequest() {
        if (unboundForOneRequest.countOthers() > 0) {
            final Failures failures = new Failures();
            releaseUnbound(unboundForOneRequest, failures);
            failures.throwIfAny();
        }
    }
}
