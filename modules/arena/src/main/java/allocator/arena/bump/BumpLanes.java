package allocator.arena.bump;

import allocator.arena.bump.BlockRegion.Kind;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of a {@link BumpAllocator} and all memory that it holds. Decides which region serves a request and when a
 * region passes from one lane to another.
 *
 * <p>A region is <em>idle</em> if any lane may take it: it is empty and in the lane without a stream, on whose behalf
 * no device work is queued.
 *
 * <p>A change of several lists sets a mark first and clears it last. Where an error of the virtual machine leaves the
 * mark set, no lane serves requests any more; {@link #releaseAll} goes by the table of regions, of which no error loses
 * an entry.
 *
 * <p>Not safe for use by several threads; the allocator's lock guards it.
 */
final class BumpLanes {
    /** How many partly used regions of a lane a request looks at before others are tried. */
    private static final int LOOKED_AT = 64;

    /** The lane of requests without a stream. */
    final BumpLane common;

    private final Upstream upstream;
    private final BumpConfig config;
    private final long byteAlignment;

    /** All regions, reserves included, by address. */
    private final SortedTable<BlockRegion> regions = new SortedTable<>();

    /** Empty regions that were for one request and go back as soon as no list is being changed. */
    private final RegionList over = new RegionList();

    /** The lanes of streams, by the stream's id. */
    private final SortedTable<BumpLane> streamLanes = new SortedTable<>();

    private BumpLane lastLane;

    /** Bytes of the regions that the configuration limits. */
    private long sharedBytes;

    private long numReleased;

    /** Whether lists are being changed. */
    private boolean isChanging;

    BumpLanes(Upstream upstream, BumpConfig config) {
        this.upstream = upstream;
        this.config = config;
        byteAlignment = upstream.info().byteAlignment();
        common = new BumpLane(null, byteAlignment);
        lastLane = common;
    }

    /** Returns a number whose signed order is the unsigned order of addresses. */
    private static long key(long address) {
        return address ^ Long.MIN_VALUE;
    }

    /** Returns whether an error ended a change halfway. */
    boolean isBroken() {
        return isChanging;
    }

    /** Returns the lane of a stream, a new one if it has none. */
    BumpLane laneOf(SyncStream stream) {
        if (lastLane.streamId() == stream.id()) {
            return lastLane;
        }
        final int index = streamLanes.find(stream.id());
        final BumpLane lane = index < 0 ? addLane(stream) : streamLanes.get(index);
        lastLane = lane;
        return lane;
    }

    private BumpLane addLane(SyncStream stream) {
        final BumpLane lane = new BumpLane(stream, byteAlignment);
        if (streamLanes.isFull()) {
            releaseEnded(common);
            streamLanes.ensureRoom(streamLanes.count());
        }
        isChanging = true;
        streamLanes.add(stream.id(), lane);
        isChanging = false;
        return lane;
    }

    /**
     * Allocates and counts a block of a lane in another region than its current one, of the kinds and in the order that
     * {@link BumpAllocator} states.
     *
     * @return the block's address; {@code 0} if the limit or the device has no memory for it
     */
    long allocate(long byteSize, BumpLane lane, BumpCounters counters) {
        BlockRegion region = lane.partlyUsed.leastRoom(byteSize, byteAlignment, LOOKED_AT);
        if (region == null) {
            region = emptyFor(byteSize, lane);
        }
        if (region == null) {
            region = take(byteSize);
        }
        if (region == null) {
            region = lane.partlyUsed.leastRoom(byteSize, byteAlignment, Integer.MAX_VALUE);
        }
        if (region == null && relieve(lane) > 0) {
            region = take(byteSize);
        }
        return region == null ? 0 : allocate(byteSize, region, lane, counters);
    }

    /** Allocates from a region that has room, and makes it the lane's current one unless it is for one request. */
    private long allocate(long byteSize, BlockRegion region, BumpLane lane, BumpCounters counters) {
        region.ensureRoom();
        isChanging = true;
        if (region.lane != null) {
            region.lane.remove(region);
        }
        final long address = region.bump(byteSize, byteAlignment, counters);
        if (region.kind == Kind.SHARED) {
            lane.use(region);
        } else {
            lane.add(region);
        }
        isChanging = false;
        return address;
    }

    /** Returns an empty region that fits a request: of its lane, or else idle, or else of a stream waited for. */
    private @Nullable BlockRegion emptyFor(long byteSize, BumpLane lane) {
        BlockRegion region = lane.smallestEmpty(byteSize, BumpLane.ANY_STAMP);
        if (region == null && lane.stream != null) {
            region = common.smallestEmpty(byteSize, BumpLane.ANY_STAMP);
            return region == null ? emptyOfWaited(byteSize, lane.stream) : region;
        }
        return region;
    }

    /** Returns the smallest empty region that fits a request, of any stream that the requester has waited for since. */
    private @Nullable BlockRegion emptyOfWaited(long byteSize, SyncStream requester) {
        BlockRegion best = null;
        for (int index = 0; index < streamLanes.count(); index++) {
            final BumpLane lane = streamLanes.get(index);
            if (lane.stream != null && lane.smallestEmpty(byteSize, BumpLane.ANY_STAMP) != null) {
                final BlockRegion region = lane.smallestEmpty(byteSize, requester.lastWaitedSyncId(lane.stream));
                best = region == null || (best != null && best.byteSize <= region.byteSize) ? best : region;
            }
        }
        return best;
    }

    /** Takes a region that the configuration allows and that fits a request, or else memory for the request alone. */
    private @Nullable BlockRegion take(long byteSize) {
        final long size = config.nextRegionBytes(byteSize, sharedBytes, upstream.left());
        final BlockRegion region = size > 0 ? take(size, Kind.SHARED) : null;
        return region == null ? take(byteSize, Kind.ONE_REQUEST) : region;
    }

    /** Takes memory, which is in no lane; returns {@code null} if the limit or the device has not that much. */
    private @Nullable BlockRegion take(long byteSize, Kind kind) {
        if (byteSize > upstream.left()) {
            return null;
        }
        final BlockRegion region = new BlockRegion(byteSize, kind);
        regions.ensureRoom(1);
        try {
            region.placeAt(upstream.take(byteSize));
        } catch (OutOfMemoryException e) {
            return null;
        }
        isChanging = true;
        regions.add(key(region.base()), region);
        isChanging = false;
        if (kind == Kind.SHARED) {
            sharedBytes += byteSize;
        }
        return region;
    }

    /**
     * Takes a reserve and counts it.
     *
     * @return its address; {@code 0} if the limit or the device has no memory for it
     */
    long reserve(long byteSize, BumpCounters counters) {
        BlockRegion region = take(byteSize, Kind.RESERVE);
        if (region == null && releaseIdle() > 0) {
            region = take(byteSize, Kind.RESERVE);
        }
        if (region == null) {
            return 0;
        }
        counters.numReserves++;
        return region.bump(byteSize, byteAlignment, counters);
    }

    /**
     * Frees the block at an address. A reserve, and memory for one request, goes back to the upstream allocator with
     * its last block, unless a stream may still use it.
     *
     * @throws InvalidFreeException if no live block starts there
     */
    void free(long address, BumpCounters counters) {
        final int index = regions.floor(key(address));
        final BlockRegion region = index < 0 ? null : regions.get(index);
        if (region == null || !region.contains(address)) {
            throw new ForeignAddressException(address, "not a live block of " + upstream.info());
        }
        final int block = region.find(address);
        final BumpLane lane = region.lane;
        final SyncStream stream = lane == null ? null : lane.stream;
        final long stamp = stream == null ? region.freeStamp : stream.syncId();
        if (region.list == null || !region.hasOneBlock()) {
            region.free(block, stamp, counters);
        } else {
            freeLast(region, block, stamp, counters);
        }
        final boolean isOver =
                region.kind == Kind.RESERVE || (region.kind == Kind.ONE_REQUEST && lane == common && region.isEmpty());
        if (isOver) {
            release(region);
        }
    }

    /** Frees the last block of a region that is in a list. */
    private void freeLast(BlockRegion region, int block, long stamp, BumpCounters counters) {
        final BumpLane lane = region.lane;
        isChanging = true;
        region.leaveList();
        region.free(block, stamp, counters);
        if (lane != null) {
            lane.add(region);
        }
        isChanging = false;
    }

    /** Gives a region back. One that could not be returned stays held, in no lane. Returns whether it was returned. */
    private boolean release(BlockRegion region) {
        region.leaveList();
        region.lane = null;
        if (!upstream.giveBack(region.base(), region.byteSize)) {
            return false;
        }
        isChanging = true;
        regions.remove(regions.find(key(region.base())));
        isChanging = false;
        if (region.kind == Kind.SHARED) {
            sharedBytes -= region.byteSize;
        }
        if (region.kind != Kind.RESERVE) {
            numReleased++;
        }
        return true;
    }

    /** Gives back what is idle and what streams that have ended had, before a request fails for a lane. */
    private int relieve(BumpLane lane) {
        releaseEnded(lane);
        return releaseIdle();
    }

    /** Gives all idle regions back, none in a call back from the upstream allocator. Returns how many. */
    int releaseIdle() {
        if (upstream.isCalled()) {
            return 0;
        }
        final BlockRegion current = common.current();
        if (current != null && current.isEmpty()) {
            isChanging = true;
            common.leaveCurrent();
            isChanging = false;
        }
        return release(common.empty);
    }

    /** Gives all regions of a list back. Returns how many were returned. */
    private int release(RegionList list) {
        int released = 0;
        BlockRegion region = list.first();
        while (region != null) {
            released += release(region) ? 1 : 0;
            region = list.first();
        }
        return released;
    }

    /** Gives all regions back, in lanes or not. Those that could not be returned stay for the next call. */
    void releaseAll() {
        for (int index = regions.count() - 1; index >= 0; index--) {
            final BlockRegion region = regions.get(index);
            if (region == null || upstream.giveBack(region.base(), region.byteSize)) {
                regions.remove(index);
            }
        }
    }

    /** Makes the empty regions of a stream idle, and gives back those that were for one request. */
    void endRun(SyncStream stream) {
        final int index = streamLanes.find(stream.id());
        if (index >= 0) {
            final BumpLane lane = streamLanes.get(index);
            isChanging = true;
            lane.leaveCurrent();
            move(lane.empty);
            isChanging = false;
            release(over);
        }
    }

    /** Removes the lane of a stream: its empty regions become idle, the others go to the lane without a stream. */
    void releaseStream(SyncStream stream) {
        final int index = streamLanes.find(stream.id());
        if (index >= 0) {
            unbind(index);
            release(over);
        }
    }

    /** Removes the lanes of streams that have ended and were not released, except one lane. */
    private void releaseEnded(BumpLane kept) {
        for (int index = streamLanes.count() - 1; index >= 0; index--) {
            final BumpLane lane = streamLanes.get(index);
            if (lane != kept && lane.hasEnded()) {
                unbind(index);
            }
        }
        release(over);
    }

    private void unbind(int index) {
        final BumpLane lane = streamLanes.get(index);
        isChanging = true;
        streamLanes.remove(index);
        lastLane = common;
        lane.leaveCurrent();
        move(lane.empty);
        move(lane.partlyUsed);
        move(lane.full);
        isChanging = false;
    }

    /** Moves all regions of a list to the lane without a stream, those that are over to their own list. */
    private void move(RegionList list) {
        BlockRegion region = list.first();
        while (region != null) {
            list.remove(region);
            common.add(region);
            if (region.kind == Kind.ONE_REQUEST && region.isEmpty()) {
                common.empty.remove(region);
                over.addFirst(region);
            }
            region = list.first();
        }
    }

    /** Returns the streams that have a lane. */
    List<SyncStream> streams() {
        final List<SyncStream> streams = new ArrayList<>(streamLanes.count());
        for (int index = 0; index < streamLanes.count(); index++) {
            final BumpLane lane = streamLanes.get(index);
            if (lane != null && lane.stream != null) {
                streams.add(lane.stream);
            }
        }
        return streams;
    }

    /** Returns the regions that lanes have, in order of address. */
    private Stream<BlockRegion> inLanes() {
        return all().filter(region -> region.lane != null);
    }

    private Stream<BlockRegion> all() {
        return IntStream.range(0, regions.count()).mapToObj(regions::get).filter(Objects::nonNull);
    }

    int countRegions() {
        return (int) inLanes().count();
    }

    /** Returns how many regions the upstream allocator has taken back. */
    long numReleased() {
        return numReleased;
    }

    /** Returns the largest request that a region fits which some lane may use; of any lane, if it is {@code null}. */
    long largestRoom(@Nullable BumpLane lane) {
        return inLanes()
                .filter(region -> lane == null || isUsable(region, lane))
                .mapToLong(region -> region.room(byteAlignment))
                .max()
                .orElse(0);
    }

    private boolean isUsable(BlockRegion region, BumpLane lane) {
        final BumpLane owner = region.lane;
        return owner == lane
                || (owner != null
                        && region.isEmpty()
                        && (owner == common || owner.isWaitedForBy(lane.stream, region.freeStamp)));
    }

    /** Describes all memory that is held. */
    AllocatorSnapshot inspect() {
        final List<Region> described = inLanes().map(BlockRegion::inspect).toList();
        final List<Chunk> blocks = all().filter(region -> region.lane == null)
                .map(BumpLanes::block)
                .toList();
        return new AllocatorSnapshot(described, blocks);
    }

    private static Chunk block(BlockRegion region) {
        final boolean isLive = !region.isEmpty();
        return new Chunk(
                region.base(),
                region.byteSize,
                isLive ? region.byteSize : 0,
                isLive ? State.LIVE : State.UNRETURNED,
                0);
    }

    /** Reports what a shrink returned, and what stays and why. */
    ShrinkReport report(long bytesReleased, int regionsReleased) {
        final long held = upstream.bytesHeld();
        final long live = bytes(false);
        final long idle = bytes(true);
        final int inUse = (int) inLanes().filter(region -> !region.isEmpty()).count();
        final int empty = countRegions() - inUse;
        final List<ShrinkReport.Held> parts = Stream.of(
                        new ShrinkReport.Held(live, inUse, "regions with live blocks"),
                        new ShrinkReport.Held(idle, empty, "regions that a stream may still use until its run ends"),
                        new ShrinkReport.Held(held - live - idle, 0, "reserves, and memory that was not taken back"))
                .filter(part -> part.bytes() > 0)
                .toList();
        return new ShrinkReport(bytesReleased, regionsReleased, held, inUse, empty, parts);
    }

    /** Returns the bytes of the regions that are empty, or of those that are not. */
    private long bytes(boolean areEmpty) {
        return inLanes()
                .filter(region -> region.isEmpty() == areEmpty)
                .mapToLong(region -> region.byteSize)
                .sum();
    }
}
