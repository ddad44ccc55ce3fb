package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Regions;
import allocator.arena.chunk.Repair;
import allocator.arena.chunk.SlabFit;
import allocator.arena.compact.BackedFit;
import allocator.arena.compact.PageTable;
import allocator.arena.page.PageSource;
import allocator.arena.upstream.Counters;
import allocator.provider.support.internal.BriefLock;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lane: chunks, the memory that they lie in, and one lock. A {@link BfcArena} has one or more.
 *
 * <p>A {@link BestFit} decides which free chunk serves a request. This class is the path of every allocation and free;
 * a {@link Supply} takes memory for chunks from the device and returns it, {@link UpstreamBlocks} allocates outside
 * them, {@link LaneReport} describes. The methods of {@link BfcArena} document what those of a lane promise.
 *
 * <p><b>Locks.</b> {@link #lock} guards all state and is never held while the upstream allocator or a stream is called.
 * {@link Lanes#deviceLock}, taken first, admits one thread at a time to take memory from the device or to return it. A
 * thread that waited for it searches for a free chunk once more. An allocation served from a free chunk never waits for
 * the device.
 */
final class Lane {
    private static final long NO_ADDRESS = BestFit.NO_ADDRESS;

    /** The number of chunks up to which every mutation is checked, where assertions are on. */
    private static final int CHECKED_ALWAYS = 64;

    final Lanes lanes;

    /** In order of creation: 0 is the main lane. */
    final int number;

    /** How many requesters {@link LaneTable} has in this lane. Guarded by {@link LaneChoice}. */
    int requesters;

    final MemoryInfo info;
    final ArenaConfig config;

    /** Guards everything below. Taken after the device lock. */
    final BriefLock lock = new BriefLock();

    final BestFit placement;
    final Regions regions;
    final Counters counters;
    final UpstreamBlocks blocks;
    final Supply supply;

    private final LaneReport report;

    /** The requester of the latest allocation. */
    private long latestRequester;

    /** Mutations until the next check, where assertions are on. */
    private long untilCheck;

    /** Creates a lane. The policy decides twice here: which free chunk serves a request, where chunks get memory. */
    Lane(Lanes lanes, int number, ArenaConfig config) {
        this.lanes = lanes;
        this.number = number;
        this.config = config;
        info = lanes.upstream.info();
        final PageSource pages = lanes.pages;
        final PageTable table = pages == null ? null : new PageTable(pages.pageBytes());
        final long maxDeadGranules = Granules.ceil(config.maxDeadBytesPerChunk());
        placement = switch (config.placementPolicy()) {
            case BEST_FIT -> new BestFit(maxDeadGranules);
            case SLABS -> new SlabFit(maxDeadGranules);
            case COMPACT -> new BackedFit(Objects.requireNonNull(table));
        };
        regions = placement.regions();
        counters = new Counters(lanes.heldLimit);
        blocks = new UpstreamBlocks(this);
        supply = pages == null || table == null
                ? new RegionSupply(this)
                : new PageSupply(this, pages, table, (BackedFit) placement);
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

    /** Allocates for a stream or for none: a free chunk, or a chunk of new memory. */
    long allocate(long byteSize, @Nullable SyncStream stream, long requester) {
        if (byteSize <= 0 || byteSize > OptionKey.MAX_SIZE) {
            return allocateNothing(byteSize);
        }
        final long address;
        final boolean isContended;
        final boolean waited = lock.lock();
        try {
            begin();
            isContended = waited && requester != latestRequester;
            latestRequester = requester;
            address = tryTake(byteSize, stream);
            placement.step = BestFit.WHOLE;
        } finally {
            lock.unlock();
        }
        if (isContended) {
            contended(requester);
        }
        return address == NO_ADDRESS ? supply.allocate(byteSize, stream) : address;
    }

    /** Returns {@link BestFit#NO_ADDRESS} for size 0, and throws what any other size that is not valid deserves. */
    private long allocateNothing(long byteSize) {
        requireValid(byteSize);
        lock.lock();
        try {
            begin();
            placement.step = BestFit.WHOLE;
        } finally {
            lock.unlock();
        }
        return NO_ADDRESS;
    }

    /** Reports contention, unless there is no room for the report: an allocation that was made counts for more. */
    private void contended(long requester) {
        try {
            lanes.choice.contended(this, requester);
        } catch (VirtualMachineError e) {
            // The next contention is reported.
        }
    }

    /**
     * Takes a free chunk, and returns {@link BestFit#NO_ADDRESS} if none fits. Under the lock, between {@link #begin}
     * and the end of the work under it, which the caller marks by {@link BestFit#WHOLE}.
     */
    long tryTake(long byteSize, @Nullable SyncStream stream) {
        final long address = placement.take(Granules.ceil(byteSize), byteSize, stream);
        if (address != NO_ADDRESS) {
            allocated(Granules.toBytes(placement.takenGranules()), byteSize);
        }
        return address;
    }

    /** Counts a chunk that was taken, of a size and for a request. Under the lock. */
    void allocated(long byteSize, long requested) {
        counters.allocated(byteSize, requested);
        assert passesSampledCheck();
        counters.allocs++;
    }

    /** Allocates outside the regions. */
    long reserve(long byteSize) {
        requireValid(byteSize);
        return blocks.reserve(byteSize);
    }

    /** Frees an allocation or a reserve of this lane. */
    void free(long address) {
        final boolean isFreed;
        lock.lock();
        try {
            begin();
            isFreed = tryFree(address);
        } finally {
            lock.unlock();
        }
        if (!isFreed && address != NO_ADDRESS) {
            blocks.free(address);
        }
    }

    /** Frees a block, and returns false if the address is in no region. Under the lock, after {@link #begin}. */
    private boolean tryFree(long address) {
        final Region region = regions.find(address);
        if (region == null) {
            return false;
        }
        try {
            freeBlock(region, address);
        } catch (VirtualMachineError e) {
            if (placement.step != BestFit.FREED) {
                throw e;
            }
            // The free has taken effect; the next call repairs what follows from it.
        }
        return true;
    }

    private void freeBlock(Region region, long address) {
        if (!placement.findLive(region, address)) {
            throw report.invalidFree(region, address);
        }
        placement.freeLive(region);
        counters.freed(Granules.toBytes(placement.liveGranules()), placement.liveRequested());
        assert passesSampledCheck();
        placement.step = BestFit.WHOLE;
    }

    /**
     * Begins work under the lock: checks that the lane is open, and repairs what an operation has left half done. The
     * work ends with {@link BestFit#step} {@link BestFit#WHOLE}, unless it fails.
     */
    void begin() {
        if (placement.step != BestFit.WHOLE) {
            if (isClosed()) {
                throw new AllocatorClosedException("the arena of " + info + " is closed");
            }
            repair();
        }
    }

    private void repair() {
        final Repair.Live live = supply.repair();
        blocks.repair();
        final long reserved = blocks.reservedBytes();
        counters.recount(live.inUse() + reserved, live.requested() + reserved);
        placement.step = BestFit.WHOLE;
    }

    /** Runs work under the lock, after {@link #begin}. */
    <T extends @Nullable Object> T locked(Supplier<T> work) {
        lock.lock();
        try {
            begin();
            final T result = work.get();
            placement.step = BestFit.WHOLE;
            return result;
        } finally {
            lock.unlock();
        }
    }

    /** Does the same, for work that makes a chunk live: as no object is created, nothing fails after it. */
    long lockedLong(LongSupplier work) {
        lock.lock();
        try {
            begin();
            final long result = work.getAsLong();
            placement.step = BestFit.WHOLE;
            return result;
        } finally {
            lock.unlock();
        }
    }

    /** Unbinds what a stream has freed at the end of a run; at its release what it has in use as well. */
    void unbind(SyncStream stream, boolean isReleased) {
        lock.lock();
        try {
            begin();
            if (isReleased) {
                placement.releaseStream(stream);
            } else {
                placement.endRun(stream);
            }
            assert passesSampledCheck();
            placement.step = BestFit.WHOLE;
        } finally {
            lock.unlock();
        }
    }

    /** Gives back Java heap, unless there is too little to do so: the tables stay as large as they are then. */
    void compact() {
        try {
            locked(() -> {
                placement.compact();
                supply.compact();
                assert passesSampledCheck();
                return null;
            });
        } catch (OutOfMemoryError e) {
            // The next shrink tries again.
        }
    }

    /** Returns the bytes that this lane holds, and what the upstream allocator's device did not take back. */
    long heldBytes() {
        return lanes.heldLimit.withUnreturned(counters.held());
    }

    /** Returns what describes this lane. */
    LaneReport report() {
        return report;
    }

    /** Returns the failed requests that the statistics of this lane contain: the main lane's those of all. */
    long failedRequests() {
        return number == 0 ? lanes.failedRequests() : 0;
    }

    /** Returns whether the lane is closed. Under the lock. */
    boolean isClosed() {
        return placement.step == BestFit.CLOSED;
    }

    /**
     * Makes room for {@link #close}. Under the lock.
     *
     * @param owners the streams to wait for are added to it
     * @return what will leave; of a lane that is closed, what is still held
     */
    CloseReport prepareClose(Map<Long, SyncStream> owners) {
        if (isClosed()) {
            blocks.prepareClose(0);
            return new CloseReport(0, 0, counters.held());
        }
        begin();
        final long[] live = {
            blocks.list().stream().filter(block -> block.state() == State.LIVE).count()
        };
        for (final Region region : regions.toList()) {
            placement.list(region, (address, byteSize, requested, state, streamId) -> {
                live[0] += state == State.LIVE ? 1 : 0;
            });
            placement.addOwners(region, owners);
        }
        supply.addOwners(owners);
        placement.step = BestFit.WHOLE;
        blocks.prepareClose(regions.count());
        return new CloseReport(live[0], counters.requested(), counters.held());
    }

    /** Lets all memory leave, and closes the lane. Under the lock, since {@link #prepareClose}. */
    void close() {
        if (!isClosed()) {
            supply.leave();
        }
        blocks.leaveAll();
        placement.step = BestFit.CLOSED;
    }

    /** Returns the memory that left when the lane was closed. Under the device lock. */
    void giveBack(Failures failures) {
        blocks.giveBackAll(failures);
        supply.giveBack(failures);
    }

    /** Compares all structures with one another unless the lane is closed. */
    void checkConsistency() {
        lock.lock();
        try {
            if (!isClosed()) {
                begin();
                requireConsistent();
            }
        } finally {
            lock.unlock();
        }
    }

    private void requireConsistent() {
        final ConsistencyCheck check = ConsistencyCheck.of(placement);
        final long reserved = blocks.reservedBytes();
        final long inUse = counters.inUse();
        final Repair.Live unfinished = supply.unfinished();
        ConsistencyCheck.expect(inUse == check.inUseBytes() - unfinished.inUse() + reserved, "bytes in use", inUse);
        final long requested = counters.requested();
        ConsistencyCheck.expect(
                requested == check.requestedBytes() - unfinished.requested() + reserved, "requested bytes", requested);
        final long held = counters.held();
        final long supplied = supply.heldBytes(check);
        ConsistencyCheck.expect(
                held == supplied + blocks.heldByReserves() + blocks.leavingBytes(),
                "bytes held, for chunks " + supplied,
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
