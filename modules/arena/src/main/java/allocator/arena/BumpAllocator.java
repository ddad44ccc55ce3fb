package allocator.arena;

import allocator.arena.upstream.SizesByAddress;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Bump allocation as an allocator of the contract: for the scratch memory of sessions, which is allocated in the course
 * of a run and all freed at its end. SizesByAddress lie behind one another in regions; a region is used again once all
 * blocks in it are freed, and not before. So a run that frees everything costs one reset for each region it used, and a
 * block that stays keeps its region.
 *
 * <p>Terms. A <em>lane</em> is the regions of one stream, or of no stream. A lane that needs room takes, in this order:
 * the rest of another region of its own; a region that is <em>idle</em>, which is one of no lane, or an empty one of
 * the lane without a stream; an empty region of a stream that its own has waited for since; a new region; where regions
 * may not grow, or the device has none of that size, memory for this one request, which goes back to the device with
 * it. When a run ends, the empty regions of its stream become idle, and when a stream closes, its regions go to the
 * lane without a stream. So memory passes on only behind the work that used it.
 *
 * <p>Safe for use by several threads; one lock guards everything and is held while the device is called. A call
 * allocates no Java objects, but for regions and, now and then, longer tables. {@link BumpArena} is what bumps without
 * being asked to free, which is faster by far.
 */
public class BumpAllocator implements StreamAwareAllocator, ShrinkableAllocator {
    private final Allocator upstream;
    private final BumpConfig config;
    private final long maxMem;
    private final AllocatorOptions effectiveOptions;
    private final long byteAlignment;
    private final Object lock = new Object();

    /** All regions in order of address, each with its lane. */
    private final List<Holding> holdings = new ArrayList<>();

    private final Lane common = new Lane(null);
    private final List<Lane> lanes = new ArrayList<>();
    private Lane lastLane = common;
    private final SizesByAddress reserves = new SizesByAddress();

    /** What the device failed to take back: held, not used, and offered again. */
    private final SizesByAddress unreturned = new SizesByAddress();

    private long chainBytes;
    private long bytesHeld;
    private long peakBytesHeld;
    private long bytesInUse;
    private long peakBytesInUse;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailedAllocs;
    private long numShrinkages;
    private boolean closed;

    /** What the device had free when it last refused. */
    private long deviceFree = OutOfMemoryException.UNKNOWN;

    /** A region and whose it is. */
    private static final class Holding {
        private final BumpRegion region;

        /** {@code null} while it is idle. */
        private @Nullable Lane lane;

        /** The sync id of the lane's stream when the region was last freed. */
        private long stamp;

        Holding(BumpRegion region, Lane lane) {
            this.region = region;
            this.lane = lane;
        }
    }

    /** What one stream allocates from. */
    private static final class Lane {
        private final @Nullable SyncStream stream;
        private @Nullable BumpRegion current;

        Lane(@Nullable SyncStream stream) {
            this.stream = stream;
        }

        boolean isOf(SyncStream other) {
            return stream != null && stream.id() == other.id();
        }
    }

    /**
     * Makes an allocator that holds nothing yet.
     *
     * @param upstream the device; it stays its owner's
     * @param config how large the regions are, and the most that they may come to
     * @param maxMem the most that may be held, reserves and everything included, in bytes; {@code 0} is no limit
     * @param effectiveOptions the settings in force, {@linkplain AllocatorOptions#resolve resolved} for every key
     * @throws IllegalArgumentException if {@code maxMem} is negative
     */
    public BumpAllocator(Allocator upstream, BumpConfig config, long maxMem, AllocatorOptions effectiveOptions) {
        if (maxMem < 0) {
            throw new IllegalArgumentException("maxMem is " + maxMem + ", it must not be negative");
        }
        this.upstream = Objects.requireNonNull(upstream, "upstream");
        this.config = Objects.requireNonNull(config, "config");
        this.maxMem = maxMem;
        this.effectiveOptions = Objects.requireNonNull(effectiveOptions, "effectiveOptions");
        this.byteAlignment = upstream.info().byteAlignment();
    }

    @Override
    public final long alloc(long byteSize) {
        synchronized (lock) {
            return allocate(byteSize, common);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if {@code stream} belongs to another device
     */
    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        StreamArenaAllocator.requireSameDevice(stream, info());
        synchronized (lock) {
            return allocate(byteSize, lane(stream));
        }
    }

    private Lane lane(SyncStream stream) {
        if (lastLane.isOf(stream)) {
            return lastLane;
        }
        Lane lane = find(stream);
        if (lane == null) {
            lane = new Lane(stream);
            lanes.add(lane);
        }
        lastLane = lane;
        return lane;
    }

    private @Nullable Lane find(SyncStream stream) {
        for (Lane lane : lanes) {
            if (lane.isOf(stream)) {
                return lane;
            }
        }
        return null;
    }

    private long allocate(long byteSize, Lane lane) {
        requireRequest(byteSize);
        if (byteSize == 0) {
            return 0;
        }
        final BumpRegion current = lane.current;
        long address = current == null ? 0 : current.bump(byteSize, byteAlignment);
        if (address == 0) {
            address = room(byteSize, lane).bump(byteSize, byteAlignment);
        }
        numAllocs++;
        count(byteSize);
        return address;
    }

    private void requireRequest(long byteSize) {
        requireOpen();
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - byteAlignment) {
            throw InvalidSizeException.overflow(byteSize, byteAlignment);
        }
    }

    private void count(long byteSize) {
        bytesInUse += byteSize;
        peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
    }

    /** A region of a lane with room for a request. */
    private BumpRegion room(long byteSize, Lane lane) {
        final Holding own = smallest(byteSize, lane, false);
        final Holding there = own != null ? own : smallest(byteSize, lane, true);
        if (there != null) {
            leave(there);
            there.lane = lane;
            lane.current = there.region;
            return there.region;
        }
        BumpRegion region = extend(byteSize, lane);
        if (region == null && releaseIdle() > 0) {
            region = extend(byteSize, lane);
        }
        if (region == null) {
            throw outOfMemory(byteSize);
        }
        return region;
    }

    /** Ends that a lane allocates from a region. */
    private static void leave(Holding holding) {
        if (holding.lane != null && holding.lane.current == holding.region) {
            holding.lane.current = null;
        }
    }

    /** The region with the least room that suffices, among a lane's own or among those that others need no more. */
    private @Nullable Holding smallest(long byteSize, Lane lane, boolean amongOthers) {
        Holding best = null;
        long leastRoom = Long.MAX_VALUE;
        for (Holding holding : holdings) {
            final long room = holding.region.room(byteAlignment);
            if (room >= byteSize && room < leastRoom && (amongOthers ? isFor(lane, holding) : holding.lane == lane)) {
                best = holding;
                leastRoom = room;
            }
        }
        return best;
    }

    /** Whether a region is anybody's to take: memory without a stream has no work queued once it is freed. */
    private boolean isIdle(Holding holding) {
        return holding.lane == null || (holding.lane == common && holding.region.isEmpty());
    }

    /**
     * Whether a lane may take a region of another: an idle one, or an empty one whose stream it has waited for since.
     */
    private boolean isFor(Lane lane, Holding holding) {
        return isIdle(holding)
                || (holding.region.isEmpty()
                        && lane.stream != null
                        && holding.lane != null
                        && holding.lane.stream != null
                        && lane.stream.lastWaitedSyncId(holding.lane.stream) > holding.stamp);
    }

    private @Nullable BumpRegion extend(long byteSize, Lane lane) {
        final long left = limitLeft();
        final long chainLeft = config.maxBytes() == 0 ? left : Math.min(left, config.maxBytes() - chainBytes);
        final boolean mayGrow = chainBytes == 0 || config.growthBytes() > 0;
        final long wanted = Math.max(byteSize, chainBytes == 0 ? config.initialBytes() : config.growthBytes());
        if (mayGrow && byteSize <= chainLeft) {
            final BumpRegion region = take(Math.min(wanted, chainLeft), lane, false);
            if (region != null) {
                lane.current = region;
                return region;
            }
        }
        return take(byteSize, lane, true);
    }

    private long limitLeft() {
        return maxMem == 0 ? Long.MAX_VALUE - bytesHeld : maxMem - bytesHeld;
    }

    private @Nullable BumpRegion take(long byteSize, Lane lane, boolean isForOne) {
        final long base = askDevice(byteSize);
        if (base == 0) {
            return null;
        }
        final BumpRegion region = new BumpRegion(base, byteSize, isForOne);
        holdings.add(-search(base) - 1, new Holding(region, lane));
        if (!isForOne) {
            chainBytes += byteSize;
        }
        return region;
    }

    /** Takes memory from the device; {@code 0} if the limit or the device has not so much. */
    private long askDevice(long byteSize) {
        if (byteSize > limitLeft()) {
            return 0;
        }
        final long address;
        try {
            address = upstream.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            deviceFree = e.shortage().deviceFree();
            return 0;
        }
        bytesHeld += byteSize - unreturned.removeOverlapping(address, byteSize);
        peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
        return address;
    }

    /** The index of the region that an address lies in; {@code -(where it would stand) - 1} if it lies in none. */
    private int search(long address) {
        int low = 0;
        int high = holdings.size() - 1;
        while (low <= high) {
            final int middle = (low + high) >>> 1;
            final BumpRegion region = holdings.get(middle).region;
            if (region.contains(address)) {
                return middle;
            }
            if (Long.compareUnsigned(region.base, address) < 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return -low - 1;
    }

    @Override
    public final void free(long address) {
        synchronized (lock) {
            requireOpen();
            if (address == 0) {
                return;
            }
            final int index = search(address);
            if (index < 0) {
                freeReserve(address);
                return;
            }
            final Holding holding = holdings.get(index);
            bytesInUse -= holding.region.free(address);
            if (holding.lane != null && holding.lane.stream != null) {
                holding.stamp = holding.lane.stream.syncId();
            }
            if (holding.region.isForOne && holding.lane == common) {
                release(index);
            }
        }
    }

    private void freeReserve(long address) {
        final long byteSize = reserves.remove(address);
        if (byteSize < 0) {
            throw InvalidFrees.outsideRegions(reserves, address, info());
        }
        bytesInUse -= byteSize;
        giveBack(address, byteSize);
    }

    private void giveBack(long address, long byteSize) {
        try {
            upstream.free(address);
        } catch (DeviceException e) {
            unreturned.put(address, byteSize);
            throw e;
        }
        bytesHeld -= byteSize;
    }

    private void offerUnreturned() {
        unreturned.forEach((address, byteSize) -> {
            unreturned.remove(address);
            giveBack(address, byteSize);
        });
    }

    /** Gives a region back. */
    private void release(int index) {
        final Holding holding = holdings.remove(index);
        final BumpRegion region = holding.region;
        leave(holding);
        if (!region.isForOne) {
            chainBytes -= region.byteSize;
        }
        giveBack(region.base, region.byteSize);
        numShrinkages++;
    }

    /** Gives all idle regions back, and tells how many. */
    private int releaseIdle() {
        offerUnreturned();
        return releaseIf(this::isIdle);
    }

    private int releaseIf(Predicate<Holding> isOver) {
        DeviceException failure = null;
        int released = 0;
        for (int i = holdings.size() - 1; i >= 0; i--) {
            if (isOver.test(holdings.get(i))) {
                try {
                    release(i);
                } catch (DeviceException e) {
                    failure = e;
                }
                released++;
            }
        }
        if (failure != null) {
            throw failure;
        }
        return released;
    }

    @Override
    public final long reserve(long byteSize) {
        synchronized (lock) {
            requireRequest(byteSize);
            if (byteSize == 0) {
                return 0;
            }
            long address = askDevice(byteSize);
            if (address == 0 && releaseIdle() > 0) {
                address = askDevice(byteSize);
            }
            if (address == 0) {
                throw outOfMemory(byteSize);
            }
            reserves.put(address, byteSize);
            numAllocs++;
            numReserves++;
            count(byteSize);
            return address;
        }
    }

    /**
     * Makes what was freed on a stream available to all: for the provider's streams to call at run end, once their work
     * is done.
     *
     * @param stream the stream
     * @throws DeviceException if the device fails to take memory back
     */
    public final void endRun(SyncStream stream) {
        synchronized (lock) {
            final Lane lane = find(stream);
            if (lane != null) {
                untie(lane);
            }
        }
    }

    private void untie(Lane lane) {
        for (Holding holding : holdings) {
            if (holding.lane == lane && holding.region.isEmpty()) {
                holding.lane = null;
            }
        }
        lane.current = null;
        releaseIf(holding -> holding.lane == null && holding.region.isForOne);
    }

    /**
     * Ends the tie between a stream and its memory: for the provider's streams to call at close, once their work is
     * done.
     *
     * @param stream the stream
     * @throws DeviceException if the device fails to take memory back
     */
    public final void releaseStream(SyncStream stream) {
        synchronized (lock) {
            final Lane lane = find(stream);
            if (lane == null) {
                return;
            }
            lanes.remove(lane);
            lastLane = common;
            for (Holding holding : holdings) {
                if (holding.lane == lane && !holding.region.isEmpty()) {
                    holding.lane = common;
                }
            }
            untie(lane);
        }
    }

    /**
     * Gives back the regions that are idle. Those that a stream may still work on stay until its run ends. What the
     * device failed to take back before is offered again.
     */
    @Override
    public final ShrinkReport shrink() {
        synchronized (lock) {
            requireOpen();
            final long before = bytesHeld;
            final int released = releaseIdle();
            int inUse = 0;
            for (Holding holding : holdings) {
                inUse += holding.region.isEmpty() ? 0 : 1;
            }
            return new ShrinkReport(before - bytesHeld, released, bytesHeld, inUse, holdings.size() - inUse);
        }
    }

    @Override
    public final MemoryInfo info() {
        return upstream.info();
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public final AllocatorStats stats() {
        synchronized (lock) {
            requireOpen();
            return new AllocatorStats.Builder()
                    .limit(limit())
                    .inUse(bytesInUse, bytesInUse, peakBytesInUse)
                    .held(bytesHeld, peakBytesHeld)
                    .free(bytesHeld - bytesInUse, largestFree())
                    .calls(numAllocs, numReserves, numFailedAllocs, maxAllocSize)
                    .regions(holdings.size(), numShrinkages)
                    .build();
        }
    }

    private long limit() {
        return maxMem == 0 ? AllocatorStats.UNLIMITED : maxMem;
    }

    private long largestFree() {
        long largest = 0;
        for (Holding holding : holdings) {
            largest = Math.max(largest, holding.region.room(byteAlignment));
        }
        return largest;
    }

    private OutOfMemoryException outOfMemory(long byteSize) {
        numFailedAllocs++;
        return new OutOfMemoryException(
                "The bump arena has no room for " + byteSize + " bytes",
                new Shortage(info(), byteSize, byteSize, limit(), bytesInUse, bytesHeld, largestFree(), deviceFree));
    }

    /**
     * Returns everything to the device. Called by the provider when the last reference is released. A second call does
     * nothing.
     *
     * @throws DeviceException if the device fails to take something back; the allocator is closed all the same, and
     *     what was not returned is lost
     */
    public final void close() {
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            try {
                offerUnreturned();
                reserves.forEach((address, byteSize) -> freeReserve(address));
            } finally {
                releaseIf(holding -> true);
            }
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    @Override
    public String toString() {
        return "bump arena of " + info();
    }
}
