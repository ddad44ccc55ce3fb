package allocator.arena;

import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Regions;
import allocator.arena.upstream.BriefLock;
import allocator.arena.upstream.Counters;
import allocator.arena.upstream.UpstreamReturns;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * A lane: regions, their chunks and one lock. A {@link BfcArena} has one or more.
 *
 * <p>A {@link Placement} decides which free chunk serves a request. This class is the path of every allocation and
 * free; {@link LaneGrowth} adds regions, {@link LaneReserves} allocates outside them, {@link LaneShrink} returns memory
 * and closes, {@link LaneReport} describes. The methods of {@link BfcArena} document what those of a lane promise.
 *
 * <p><b>Locks.</b> {@link #lock} guards all state and is never held while the upstream allocator or a stream is called.
 * {@link Lanes#deviceLock}, taken first, admits one thread at a time to take memory from the device or to return it. A
 * thread that waited for it searches for a free chunk once more. An allocation served from a free chunk never waits for
 * the device.
 */
final class Lane {
    private static final long NO_ADDRESS = Placement.NO_ADDRESS;

    /** The number of chunks up to which every mutation is checked, where assertions are on. */
    private static final int CHECKED_ALWAYS = 64;

    private final Lanes lanes;

    /** In order of creation: 0 is the main lane. */
    final int number;

    final Allocator upstream;
    final MemoryInfo info;
    final ArenaConfig config;

    /** Guards everything below. Taken after the device lock. */
    final BriefLock lock = new BriefLock();

    final Placement placement;
    final Regions regions;
    final Counters counters;
    final UpstreamReturns returns;
    final LaneReserves reserves;
    final LaneGrowth growth;
    private final LaneShrink shrink;
    private final LaneReport report;

    private boolean isClosed;

    /** The requester of the latest allocation. */
    private long latestRequester;

    /** Mutations until the next check, where assertions are on. */
    private long untilCheck;

    Lane(Lanes lanes, int number, ArenaConfig config) {
        this.lanes = lanes;
        this.number = number;
        this.config = config;
        upstream = lanes.upstream;
        info = upstream.info();
        placement = config.placementPolicy().newPlacement(config);
        regions = placement.regions();
        counters = new Counters(lanes.heldLimit);
        returns = new UpstreamReturns(upstream, lock, counters);
        reserves = new LaneReserves(this, lanes);
        growth = new LaneGrowth(this, lanes);
        shrink = new LaneShrink(this, lanes);
        report = new LaneReport(this);
    }

    static void requireValid(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > OptionKey.MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, Granules.BYTES);
        }
    }

    /**
     * Allocates for a stream or for none, and reports whether the requester contended with another one for the lock.
     */
    long allocate(long byteSize, @Nullable SyncStream stream, long requester) {
        requireValid(byteSize);
        final long address;
        final boolean isContended;
        final boolean waited = lock.lock();
        try {
            requireOpen();
            isContended = waited && requester != latestRequester;
            latestRequester = requester;
            if (byteSize == 0) {
                return NO_ADDRESS;
            }
            address = tryTake(byteSize, stream);
        } finally {
            lock.unlock();
        }
        if (isContended) {
            lanes.choice.contended(this, requester);
        }
        return address == NO_ADDRESS ? growth.takeFromNewRegion(byteSize, stream) : address;
    }

    /** Takes a free chunk, and returns {@link Placement#NO_ADDRESS} if none fits. Under the lock. */
    long tryTake(long byteSize, @Nullable SyncStream stream) {
        final long address = placement.take(Granules.ceil(byteSize), byteSize, stream);
        if (address != NO_ADDRESS) {
            counters.allocated(Granules.toBytes(placement.takenGranules()), byteSize);
            assert passesSampledCheck();
        }
        return address;
    }

    /** Allocates outside the regions. */
    long reserve(long byteSize) {
        requireValid(byteSize);
        return reserves.reserve(byteSize);
    }

    /** Frees an allocation or a reserve of this lane. */
    void free(long address) {
        lock.lock();
        try {
            requireOpen();
            final Region region = regions.find(address);
            if (region != null) {
                freeChunk(region, address);
                return;
            }
        } finally {
            lock.unlock();
        }
        if (address != NO_ADDRESS) {
            reserves.free(address);
        }
    }

    private void freeChunk(Region region, long address) {
        final int chunk = placement.liveChunk(region, address);
        if (chunk == Region.NO_CHUNK) {
            throw ChunkFrees.diagnose(placement, region, address, info);
        }
        final long granules = placement.granules(region, chunk);
        final long requested = placement.requested(chunk);
        placement.prepareFree();
        counters.freed(Granules.toBytes(granules), requested);
        placement.free(region, chunk, granules);
        assert passesSampledCheck();
    }

    void releaseStream(SyncStream stream) {
        lock.lock();
        try {
            requireOpen();
            placement.releaseStream(stream);
            assert passesSampledCheck();
        } finally {
            lock.unlock();
        }
    }

    void endRun(SyncStream stream) {
        lock.lock();
        try {
            requireOpen();
            placement.endRun(stream);
            assert passesSampledCheck();
        } finally {
            lock.unlock();
        }
    }

    /** Forgets unreturned memory that the upstream allocator has handed out again: it was returned after all. */
    void forgetReturned(long address, long byteSize) {
        lock.lock();
        try {
            returns.forgetOverlapping(address, byteSize);
        } finally {
            lock.unlock();
        }
    }

    /** Returns what shrinks and closes this lane. */
    LaneShrink shrink() {
        return shrink;
    }

    /** Returns what describes this lane. */
    LaneReport report() {
        return report;
    }

    /** Prevents every change until {@link #unfreeze}. */
    void freeze() {
        lock.lock();
    }

    void unfreeze() {
        lock.unlock();
    }

    /** Under the lock. */
    void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the arena of " + info + " is closed");
        }
    }

    /** Closes the lane, and returns whether it was open. Under the lock. */
    boolean markClosed() {
        final boolean wasOpen = !isClosed;
        isClosed = true;
        return wasOpen;
    }

    /** Compares all structures with one another unless the lane is closed. */
    void checkConsistency() {
        lock.lock();
        try {
            if (!isClosed) {
                requireConsistent();
            }
        } finally {
            lock.unlock();
        }
    }

    private void requireConsistent() {
        final ConsistencyCheck check = ConsistencyCheck.of(placement);
        final long reserved = reserves.sizes().totalBytes();
        final long inUse = counters.inUse();
        ConsistencyCheck.expect(inUse == check.inUseBytes() + reserved, "bytes in use", inUse);
        final long requested = counters.requested();
        ConsistencyCheck.expect(requested == check.requestedBytes() + reserved, "requested bytes", requested);
        final long held = counters.held();
        ConsistencyCheck.expect(
                held == check.regionBytes() + reserved + returns.heldBytes(),
                "bytes held, in regions " + check.regionBytes(),
                held);
    }

    /**
     * Checks a small lane at every mutation, and a large one so rarely that the check costs each mutation the visit of
     * a few chunks. Under the lock.
     */
    boolean passesSampledCheck() {
        if (--untilCheck < 0) {
            requireConsistent();
            final int count = placement.chunkCount();
            untilCheck = count <= CHECKED_ALWAYS ? 0 : count;
        }
        return true;
    }
}
