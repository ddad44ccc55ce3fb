package allocator.arena.bump;

import allocator.arena.bump.BlockRegion.Kind;
import allocator.provider.support.BlockCounters;
import allocator.provider.support.internal.LongTable;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of a {@link BumpAllocator} and all memory that it holds. Decides which region serves a request and when a
 * region passes from one lane to another.
 *
 * <p>A region is <em>idle</em> if any lane may take it: it is empty and in the lane without a stream, on whose behalf
 * no device work is queued.
 *
 * <p>A change sets a mark first and clears it last. Where an error of the virtual machine leaves the mark set, no lane
 * serves requests any more; {@link #releaseAll} goes by the list of regions, of which no error loses an entry.
 *
 * <p>Not safe for use by several threads; the allocator's lock guards it.
 */
final class BumpLanes {
    /** How many lanes there are at least before those of ended streams are looked for. */
    private static final int MANY = 8;

    final BlockCounters counters = new BlockCounters();

    /** The lane of requests without a stream. */
    final BumpLane common = new BumpLane(null);

    private final RegionSource source;
    private final BumpConfig config;
    private final long byteAlignment;

    /** All regions, reserves included, in order of address. */
    private final ArrayList<BlockRegion> regions = new ArrayList<>(MANY);

    /** Empty regions, which go back as soon as no list is being changed. */
    private final RegionList over = new RegionList();

    /** The lanes of streams, by the stream's id. */
    private final LongTable<BumpLane> streamLanes = new LongTable<>(true);

    private BumpLane lastLane = common;

    /** How many lanes there are when those of ended streams are looked for. */
    private int manyLanes = MANY;

    /** Bytes of the regions that the configuration limits. */
    private long sharedBytes;

    private long numReleased;

    /** Whether something is being changed. */
    private boolean isChanging;

    BumpLanes(RegionSource source, BumpConfig config) {
        this.source = source;
        this.config = config;
        this.byteAlignment = source.info().byteAlignment();
    }

    /** Returns whether an error ended a change halfway. */
    boolean isBroken() {
        return isChanging;
    }

    /** Returns the lane of a stream, a new one if it has none. */
    BumpLane laneOf(SyncStream stream) {
        if (lastLane.streamId() != stream.id()) {
            final BumpLane lane = findLane(stream);
            lastLane = lane == null ? addLane(stream) : lane;
        }
        return lastLane;
    }

    private @Nullable BumpLane findLane(SyncStream stream) {
        final int slot = streamLanes.find(stream.id());
        return slot < 0 ? null : streamLanes.attachment(slot);
    }

    private BumpLane addLane(SyncStream stream) {
        final BumpLane lane = new BumpLane(stream);
        if (streamLanes.count() >= manyLanes) {
            releaseEnded(common);
            manyLanes = Math.max(MANY, 2 * streamLanes.count());
        }
        streamLanes.expect();
        isChanging = true;
        streamLanes.add(stream.id(), 0, lane);
        isChanging = false;
        return lane;
    }

    /**
     * Allocates and counts a block: in the lane's current region, or else in one of the kinds and in the order that
     * {@link BumpAllocator} states, which becomes the current one unless it is for one request. Returns the block's
     * address; {@code 0} if the limit or the device has no memory for it.
     */
    long allocate(long byteSize, BumpLane lane) {
        final BlockRegion current = lane.current;
        final BlockRegion region = current == null || current.room() < byteSize ? find(byteSize, lane) : current;
        if (region == null) {
            return 0;
        }
        region.ensureRoom();
        isChanging = true;
        final long address = region.bump(byteSize);
        counters.allocated(byteSize, byteSize);
        if (region != current || region.list == lane.empty) {
            if (region.kind == Kind.SHARED) {
                lane.leaveCurrent();
                lane.put(region);
                lane.current = region;
            } else {
                lane.put(region);
            }
        }
        isChanging = false;
        return address;
    }

    private @Nullable BlockRegion find(long byteSize, BumpLane lane) {
        BlockRegion region = lane.partlyUsedFor(byteSize, false);
        if (region == null) {
            region = lane.emptyFor(byteSize);
        }
        if (region == null && lane.stream != null) {
            region = common.emptyFor(byteSize);
            region = region == null ? emptyOfWaited(byteSize, lane.stream) : region;
        }
        if (region == null) {
            region = take(byteSize);
        }
        if (region == null) {
            region = lane.partlyUsedFor(byteSize, true);
        }
        if (region == null && relieve(lane) > 0) {
            region = take(byteSize);
        }
        return region;
    }

    /** Returns the smallest empty region that fits a request, of any stream that the requester has waited for since. */
    private @Nullable BlockRegion emptyOfWaited(long byteSize, SyncStream requester) {
        BlockRegion best = null;
        for (int slot = 0; slot < streamLanes.capacity(); slot++) {
            final BumpLane lane = streamLanes.attachment(slot);
            final BlockRegion region = lane == null ? null : lane.emptyFor(byteSize, requester);
            best = region == null || (best != null && best.isBefore(region)) ? best : region;
        }
        return best;
    }

    /** Takes a region that the configuration allows and that fits a request, or else memory for the request alone. */
    private @Nullable BlockRegion take(long byteSize) {
        final long size = config.nextRegionBytes(byteSize, sharedBytes, source.left());
        final BlockRegion region = size > 0 ? take(size, Kind.SHARED) : null;
        return region == null ? take(byteSize, Kind.ONE_REQUEST) : region;
    }

    /** Takes memory, which is in no lane; returns {@code null} if the limit or the device has not that much. */
    private @Nullable BlockRegion take(long byteSize, Kind kind) {
        if (byteSize > source.left()) {
            return null;
        }
        final BlockRegion region = new BlockRegion(byteSize, kind, byteAlignment);
        regions.ensureCapacity(regions.size() + 1);
        try {
            source.take(region);
        } catch (OutOfMemoryException e) {
            return null;
        }
        isChanging = true;
        regions.add(floor(region.base()) + 1, region);
        isChanging = false;
        if (kind == Kind.SHARED) {
            sharedBytes += byteSize;
        }
        return region;
    }

    /** Returns the index of the last region that begins at or below an address; {@code -1} if there is none. */
    private int floor(long address) {
        int low = 0;
        int high = regions.size() - 1;
        while (low <= high) {
            final int middle = (low + high) >>> 1;
            if (Long.compareUnsigned(regions.get(middle).base(), address) <= 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }

    /** Takes and counts a reserve. Returns its address; {@code 0} if the limit or the device has no memory for it. */
    long reserve(long byteSize) {
        BlockRegion region = take(byteSize, Kind.RESERVE);
        if (region == null && relieve(common) > 0) {
            region = take(byteSize, Kind.RESERVE);
        }
        if (region == null) {
            return 0;
        }
        isChanging = true;
        final long address = region.bump(byteSize);
        counters.allocated(byteSize, byteSize);
        counters.reserved();
        isChanging = false;
        return address;
    }

    /** Gives a reserve one copy with equal ones, if it is one. Returns the bytes that went back. */
    long share(long address, PagedReserves reserves) {
        final int index = floor(address);
        if (index < 0 || regions.get(index).kind != Kind.RESERVE) {
            return 0;
        }
        try {
            return reserves.share(address);
        } finally {
            countShared();
        }
    }

    /** Counts what has one copy now once. */
    private void countShared() {
        final long more = source.countShared();
        counters.freed(more, more);
    }

    /**
     * Frees the block at an address. A reserve, and memory for one request, goes back to the upstream allocator with
     * its last block, unless a stream may still use it.
     *
     * @throws InvalidFreeException if no live block starts there
     */
    void free(long address) {
        final int index = floor(address);
        final BlockRegion region = index < 0 ? null : regions.get(index);
        if (region == null || !region.contains(address)) {
            throw new ForeignAddressException(address, "not a live block of " + source.info());
        }
        final int block = region.find(address);
        final BumpLane lane = region.lane;
        final SyncStream stream = lane == null ? null : lane.stream;
        final long stamp = stream == null ? region.freeStamp : stream.syncId();
        isChanging = true;
        final long byteSize = region.free(block, stamp);
        counters.freed(byteSize, byteSize);
        if (region.isEmpty() && lane != null) {
            lane.put(region);
        }
        isChanging = false;
        final boolean isOver =
                region.kind == Kind.RESERVE || (region.kind == Kind.ONE_REQUEST && lane == common && region.isEmpty());
        if (isOver) {
            release(region);
            countShared();
        }
    }

    /** Gives a region back. One that could not be returned stays held, in no lane. Returns whether it was returned. */
    private boolean release(BlockRegion region) {
        isChanging = true;
        region.leaveLane();
        isChanging = false;
        if (!source.giveBack(region)) {
            return false;
        }
        isChanging = true;
        regions.remove(floor(region.base()));
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
        return releaseIdle() + (source.returnAgain() ? 1 : 0);
    }

    /** Gives all idle regions back, none in a call back from the upstream allocator. Returns how many. */
    int releaseIdle() {
        if (source.isCalled()) {
            return 0;
        }
        return release(common.empty);
    }

    /** Gives all regions of a list back. Returns how many were returned. */
    private int release(RegionList list) {
        int released = 0;
        while (list.first != null) {
            released += release(list.first) ? 1 : 0;
        }
        return released;
    }

    /** Gives all regions back, in lanes or not. Those that could not be returned stay for the next call. */
    void releaseAll() {
        for (int index = regions.size() - 1; index >= 0; index--) {
            if (source.giveBack(regions.get(index))) {
                regions.remove(index);
            }
        }
    }

    /** Makes the empty regions of a stream idle, and gives back those that were for one request. */
    void endRun(SyncStream stream) {
        final BumpLane lane = findLane(stream);
        if (lane != null) {
            isChanging = true;
            lane.leaveCurrent();
            move(lane.empty);
            isChanging = false;
            release(over);
        }
    }

    /** Removes the lane of a stream: its empty regions become idle, the others go to the lane without a stream. */
    void releaseStream(SyncStream stream) {
        final BumpLane lane = findLane(stream);
        if (lane != null) {
            unbind(lane);
            release(over);
        }
    }

    /** Removes the lanes of streams that have ended and were not released, except one lane. */
    private void releaseEnded(BumpLane kept) {
        for (int slot = 0; slot < streamLanes.capacity(); ) {
            final BumpLane lane = streamLanes.attachment(slot);
            if (lane != null && lane != kept && lane.stream != null && lane.stream.hasEnded()) {
                unbind(lane); // and another lane comes to its slot
            } else {
                slot++;
            }
        }
        release(over);
    }

    private void unbind(BumpLane lane) {
        isChanging = true;
        streamLanes.remove(streamLanes.find(lane.streamId()));
        lastLane = common;
        lane.leaveCurrent();
        move(lane.empty);
        move(lane.partlyUsed);
        for (int index = 0; index < regions.size(); index++) {
            if (regions.get(index).lane == lane) { // without room
                common.put(regions.get(index));
            }
        }
        isChanging = false;
    }

    /** Moves all regions of a list to the lane without a stream, or, if they are over, out of all. */
    private void move(RegionList list) {
        while (list.first != null) {
            final BlockRegion region = list.first;
            if (region.kind == Kind.ONE_REQUEST && region.isEmpty()) {
                region.leaveLane();
                over.add(region);
            } else {
                common.put(region);
            }
        }
    }

    /** Returns the streams that have a lane. */
    List<SyncStream> streams() {
        final List<SyncStream> streams = new ArrayList<>(streamLanes.count());
        for (int slot = 0; slot < streamLanes.capacity(); slot++) {
            final BumpLane lane = streamLanes.attachment(slot);
            if (lane != null && lane.stream != null) {
                streams.add(lane.stream);
            }
        }
        return streams;
    }

    /** Returns the regions that lanes have, in order of address. */
    private Stream<BlockRegion> inLanes() {
        return regions.stream().filter(region -> region.lane != null);
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
                .mapToLong(BlockRegion::room)
                .reduce(0, Math::max);
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
        final List<Chunk> blocks = regions.stream()
                .filter(region -> region.lane == null)
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
        final long held = source.bytesHeld();
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
