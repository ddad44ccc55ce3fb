package allocator.arena;

import allocator.arena.StreamSlots.Slot;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The best-fit-with-coalescing arena, on addresses: takes regions from an upstream allocator, hands out chunks of them,
 * and keeps what is freed for the next request.
 *
 * <p>Where memory comes from within the regions is decided by {@link Placement}; this class adds the limit, growth,
 * reserves, shrinking, statistics, errors and locks. It behaves chunk for chunk as ONNX Runtime's arena, less its faults:
 * the limit holds for regions and reserves together, a bad free is refused, a stream's memory is handed on only after an
 * event that was recorded when it was free already.
 *
 * <p><b>Locks.</b> One guards all state and is never held while the upstream allocator or a stream is called. The other,
 * taken first, lets one thread at a time take memory from the device or return it; so what is asked for is known to fit
 * under the limit. Who finds a free chunk never waits for the device.
 *
 * <p><b>Memory that cannot be returned</b> stays counted as held, is not used again, is listed by {@link #snapshot}, and
 * the next shrink and the close try again; see {@link Returns}.
 *
 * <p>Safe for use by any thread.
 */
public final class BfcArena {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    private static final long NO_ADDRESS = Placement.NO_ADDRESS;

    /** Up to how many chunks every mutation is checked, where assertions are on. */
    private static final int CHECKED_ALWAYS = 64;

    private final Allocator upstream;
    private final MemoryInfo info;
    private final ArenaConfig config;

    /** Held by whoever takes memory from the device or returns it. Before {@link #lock}. */
    private final ReentrantLock deviceLock = new ReentrantLock();

    /** Guards everything below. */
    private final BriefLock lock = new BriefLock();

    private final Placement placement;
    private final Regions regions;

    /** In front of the placement, where the settings say so. */
    private final @Nullable QuickFit quickFit;

    private final Counters counters = new Counters();
    private final Blocks reserves = new Blocks();
    private final Growth growth;
    private final Returns returns;

    private boolean isClosed;

    /** Mutations until the next check, where assertions are on. */
    private long untilCheck;

    /**
     * Makes an arena that holds nothing yet.
     *
     * @param upstream gives the regions and the reserves; the arena does not close it
     * @param config the settings
     * @throws IllegalArgumentException if the memory's alignment is above {@link OptionKey#SIZE_GRANULARITY}, to which
     *     the arena aligns
     */
    public BfcArena(Allocator upstream, ArenaConfig config) {
        this.upstream = Objects.requireNonNull(upstream, "upstream");
        this.config = Objects.requireNonNull(config, "config");
        info = upstream.info();
        if (info.byteAlignment() > Units.BYTES) {
            throw new IllegalArgumentException(
                    "an arena aligns to " + Units.BYTES + " bytes, " + info + " asks for " + info.byteAlignment());
        }
        placement = new Placement(Units.ceil(config.maxDeadBytesPerChunk()));
        regions = placement.regions;
        quickFit = config.placementPolicy() == PlacementPolicy.QUICK_FIT
                ? new QuickFit(placement, Units.ceil(config.maxKeptBytes()))
                : null;
        growth = new Growth(config);
        returns = new Returns(upstream, lock, counters);
    }

    /**
     * The memory that the arena serves.
     *
     * @return the upstream allocator's info
     */
    public MemoryInfo info() {
        return info;
    }

    /**
     * The settings.
     *
     * @return the configuration
     */
    public ArenaConfig config() {
        return config;
    }

    // ---- allocating

    /**
     * Allocates memory for no stream in particular; it is never memory that a stream still owns.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     * @throws AllocatorClosedException if the arena is closed
     */
    public long alloc(long byteSize) {
        return allocate(byteSize, null);
    }

    /**
     * Allocates memory for a stream, which may be memory that the stream freed before.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream the stream
     * @return the address
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocOnStream(long byteSize, SyncStream stream) {
        return allocate(byteSize, Objects.requireNonNull(stream, "stream"));
    }

    private long allocate(long byteSize, @Nullable SyncStream stream) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > OptionKey.MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, Units.BYTES);
        }
        final long address;
        lock.lock();
        try {
            requireOpen();
            if (byteSize == 0) {
                return NO_ADDRESS;
            }
            address = tryTake(byteSize, stream);
        } finally {
            lock.unlock();
        }
        return address == NO_ADDRESS ? takeFromNewRegion(byteSize, stream) : address;
    }

    /** Takes a free chunk, if there is one. Under the lock. */
    private long tryTake(long byteSize, @Nullable SyncStream stream) {
        final long units = Units.ceil(byteSize);
        final Slot asker = placement.asker(stream);
        final long address =
                quickFit == null ? placement.take(units, byteSize, asker) : quickFit.take(units, byteSize, asker);
        if (address != NO_ADDRESS) {
            counters.allocated(Units.toBytes(placement.takenUnits()), byteSize);
            assert isConsistentNowAndThen();
        }
        return address;
    }

    private long takeFromNewRegion(long byteSize, @Nullable SyncStream stream) {
        deviceLock.lock();
        try {
            final long growthBefore;
            final long planned;
            lock.lock();
            try {
                requireOpen();
                final long address = tryTake(byteSize, stream);
                if (address != NO_ADDRESS) {
                    return address;
                }
                growthBefore = growth.next();
                planned = planRegion(byteSize, stream);
            } finally {
                lock.unlock();
            }
            final Region region = newRegion(planned, byteSize, stream, growthBefore);
            return addRegion(region, byteSize, stream);
        } finally {
            deviceLock.unlock();
        }
    }

    /** How large a region to ask for; moves growth on. Under both locks. */
    private long planRegion(long byteSize, @Nullable SyncStream stream) {
        final long rounded = Units.roundUp(byteSize);
        final long available = Units.toBytes(Units.floor(config.limit() - counters.held()));
        if (rounded > available) {
            throw outOfMemory(limitReached(available, rounded), byteSize, rounded, stream, false, null);
        }
        if (rounded > Growth.MAX_REGION || regions.isFull()) {
            throw outOfMemory(deviceRefused(rounded), byteSize, rounded, stream, false, null);
        }
        placement.prepareRegion();
        return growth.plan(rounded, available);
    }

    /** Gets a region of {@code planned} bytes, or of as much less as the device has and the request needs. */
    private Region newRegion(long planned, long byteSize, @Nullable SyncStream stream, long growthBefore) {
        final long rounded = Units.roundUp(byteSize);
        long asked = planned;
        while (true) {
            try {
                return newRegion(asked);
            } catch (OutOfMemoryException e) {
                asked = Growth.afterRefusalOf(asked, rounded);
                if (asked == 0) {
                    throw refused(e, byteSize, rounded, stream, false);
                }
            } catch (Throwable e) {
                lock.lock();
                try {
                    growth.restore(growthBefore);
                } finally {
                    lock.unlock();
                }
                throw e;
            }
        }
    }

    private Region newRegion(long byteSize) {
        final long base = upstream.alloc(byteSize);
        try {
            return new Region(regions.freeId(), base, Units.floor(byteSize), regions.count() == 0);
        } catch (Throwable e) {
            upstream.free(base);
            throw e;
        }
    }

    private long addRegion(Region region, long byteSize, @Nullable SyncStream stream) {
        final long address;
        lock.lock();
        try {
            returns.forgetOverlapping(region.base, region.byteSize());
            placement.attach(region);
            counters.extended(region.byteSize());
            address = tryTake(byteSize, stream);
        } finally {
            lock.unlock();
        }
        LOG.log(
                Level.DEBUG,
                "{0}: extended by {1} bytes at 0x{2} for {3} bytes",
                info,
                region.byteSize(),
                Long.toHexString(region.base),
                byteSize);
        return address;
    }

    /**
     * Allocates memory outside the regions: exactly {@code byteSize} bytes of the upstream allocator, under the same limit.
     * It goes back to the upstream allocator when it is freed; {@link #shrink} does not touch it.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     * @throws AllocatorClosedException if the arena is closed
     */
    public long reserve(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > OptionKey.MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, Units.BYTES);
        }
        deviceLock.lock();
        try {
            lock.lock();
            try {
                requireOpen();
                final long available = config.limit() - counters.held();
                if (byteSize > available) {
                    throw outOfMemory(limitReached(available, byteSize), byteSize, byteSize, null, true, null);
                }
            } finally {
                lock.unlock();
            }
            return byteSize == 0 ? NO_ADDRESS : reserveUpstream(byteSize);
        } finally {
            deviceLock.unlock();
        }
    }

    private long reserveUpstream(long byteSize) {
        final long address;
        try {
            address = upstream.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            throw refused(e, byteSize, byteSize, null, true);
        }
        lock.lock();
        try {
            returns.forgetOverlapping(address, byteSize);
            reserves.put(address, byteSize);
            counters.reserved(byteSize);
            assert isConsistentNowAndThen();
        } finally {
            lock.unlock();
        }
        return address;
    }

    // ---- freeing

    /**
     * Frees an allocation or a reserve. What a stream took stays with the stream, until the stream is released or another
     * one has waited for an event that is recorded from now on.
     *
     * @param address what the allocation returned; {@code 0} does nothing
     * @throws InvalidFreeException if it is not the start of a live allocation; nothing changes then
     * @throws DeviceException if the upstream allocator fails to take a reserve back; it is free all the same
     * @throws AllocatorClosedException if the arena is closed
     */
    public void free(long address) {
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
            freeReserve(address);
        }
    }

    private void freeChunk(Region region, long address) {
        final int chunk = liveChunk(region, address);
        if (chunk == Chunks.NONE) {
            throw BadFrees.inRegion(placement, region, address, info);
        }
        final long units = placement.units(region, chunk);
        counters.freed(Units.toBytes(units), placement.chunks.requested(chunk));
        if (quickFit == null) {
            placement.free(region, chunk, units);
        } else {
            quickFit.free(region, chunk, units);
        }
        assert isConsistentNowAndThen();
    }

    /** The chunk in use that starts at {@code address}, {@link Chunks#NONE} if none does. */
    private int liveChunk(Region region, long address) {
        final long offset = address - region.base;
        if (!Units.isWhole(offset)) {
            return Chunks.NONE;
        }
        final int chunk = placement.startingAt(region, Units.floor(offset));
        return chunk == Chunks.NONE || !placement.chunks.isLive(chunk) ? Chunks.NONE : chunk;
    }

    private void freeReserve(long address) {
        deviceLock.lock();
        try {
            final long byteSize;
            lock.lock();
            try {
                requireOpen();
                byteSize = reserves.remove(address);
                if (byteSize < 0) {
                    throw BadFrees.outsideRegions(reserves, address, info);
                }
                counters.freed(byteSize, byteSize);
                returns.leaves(byteSize);
            } finally {
                lock.unlock();
            }
            final RuntimeException failure = returns.giveBack(address, byteSize, false);
            if (failure != null) {
                throw failure;
            }
        } finally {
            deviceLock.unlock();
        }
    }

    // ---- streams

    /**
     * Ends the tie between a stream and its memory, used and free: any stream may use from now on what it freed and will
     * free. To be called when the stream's work is done and no more will come, at its close.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void releaseStream(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        lock.lock();
        try {
            requireOpen();
            untieKept(stream);
            placement.release(stream);
            assert isConsistentNowAndThen();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets any stream use what a stream has freed so far (T-04). What it frees later is tied to it again, since it may
     * work on it meanwhile (T-01). To be called when the stream's work is done, at run end.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void endRun(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        lock.lock();
        try {
            requireOpen();
            untieKept(stream);
            placement.endRun(stream);
            assert isConsistentNowAndThen();
        } finally {
            lock.unlock();
        }
    }

    private void untieKept(SyncStream stream) {
        if (quickFit != null) {
            quickFit.untie(stream);
        }
    }

    /** Merges what is kept, so that there is nothing but memory in use and free memory. Under the lock. */
    private void mergeKept() {
        if (quickFit != null) {
            quickFit.mergeAll();
        }
    }

    // ---- shrinking and closing

    /**
     * Returns every region without live allocations to the upstream allocator, except the first one where the settings keep
     * it; growth starts anew. Waits first for the streams that own memory in those regions.
     *
     * @return what went back and what stays
     * @throws DeviceException if a stream cannot be waited for, and nothing is returned then; or if the upstream allocator
     *     fails to take a region back, after all others were returned
     * @throws AllocatorClosedException if the arena is closed
     */
    public ShrinkReport shrink() {
        deviceLock.lock();
        try {
            final Map<Region, Long> idle = new LinkedHashMap<>();
            final Set<SyncStream> owners = new LinkedHashSet<>();
            final int kept;
            lock.lock();
            try {
                requireOpen();
                kept = findIdle(idle, owners);
            } finally {
                lock.unlock();
            }
            owners.forEach(BfcArena::waitFor);
            final List<Region> detached = detachUnchanged(idle);
            final Failures failures = new Failures();
            returns.tryAgain();
            final long released = giveBackRegions(detached, failures);
            failures.throwIfAny();
            return report(released, detached.size(), kept);
        } finally {
            deviceLock.unlock();
        }
    }

    /** Notes the regions that may go, with the number of frees that they have seen, and whom to wait for. */
    private int findIdle(Map<Region, Long> idle, Set<SyncStream> owners) {
        mergeKept();
        int kept = 0;
        for (final Region region : regions.toList()) {
            if (region.chunksInUse == 0) {
                if (keeps(region)) {
                    kept++;
                } else {
                    idle.put(region, region.frees);
                    placement.addOwners(region, owners);
                }
            }
        }
        return kept;
    }

    private boolean keeps(Region region) {
        return region.isFirst && config.keepFirstRegion() && config.extendStrategy() == ExtendStrategy.POWER_OF_TWO;
    }

    /** Waits for a stream's work; a closed stream has none. */
    private static void waitFor(SyncStream stream) {
        try {
            stream.flush();
        } catch (IllegalStateException e) {
            LOG.log(Level.DEBUG, "{0} is closed, its work is done", stream);
        }
    }

    /** Takes out those regions in which nothing was freed since they were noted: all work on them was waited for. */
    private List<Region> detachUnchanged(Map<Region, Long> idle) {
        final List<Region> detached = new ArrayList<>();
        lock.lock();
        try {
            idle.forEach((region, frees) -> {
                if (region.chunksInUse == 0 && region.frees == frees) {
                    placement.detach(region);
                    counters.detached();
                    returns.leaves(region.byteSize());
                    detached.add(region);
                }
            });
            growth.restart();
            assert isConsistentNowAndThen();
        } finally {
            lock.unlock();
        }
        return detached;
    }

    private long giveBackRegions(List<Region> detached, Failures failures) {
        long released = 0;
        for (final Region region : detached) {
            final RuntimeException failure = returns.giveBack(region.base, region.byteSize(), true);
            failures.add(failure);
            released += failure == null ? region.byteSize() : 0;
        }
        return released;
    }

    private ShrinkReport report(long released, int regionsReleased, int kept) {
        final ShrinkReport report;
        lock.lock();
        try {
            report = new ShrinkReport(released, regionsReleased, counters.held(), regions.count() - kept, kept);
        } finally {
            lock.unlock();
        }
        LOG.log(Level.DEBUG, "{0}: {1}", info, report);
        return report;
    }

    /**
     * Returns everything to the upstream allocator, live or not, after the streams that own memory here are done. All
     * addresses are dead then. A second call does nothing.
     *
     * @return what was still live
     * @throws DeviceException if a stream cannot be waited for or memory cannot be returned; everything else was returned
     *     then, and the arena is closed all the same
     */
    public CloseReport close() {
        deviceLock.lock();
        try {
            final Set<SyncStream> owners = new LinkedHashSet<>();
            final Blocks all = new Blocks();
            final CloseReport report;
            lock.lock();
            try {
                if (isClosed) {
                    return new CloseReport(0, 0, 0);
                }
                isClosed = true;
                report = emptyInto(all, owners);
            } finally {
                lock.unlock();
            }
            final Failures failures = new Failures();
            owners.forEach(stream -> failures.run(() -> waitFor(stream)));
            all.forEach((address, byteSize) -> failures.run(() -> upstream.free(address)));
            failures.throwIfAny();
            return report;
        } finally {
            deviceLock.unlock();
        }
    }

    /** Moves all that is held into {@code all}, with the streams to wait for. */
    private CloseReport emptyInto(Blocks all, Set<SyncStream> owners) {
        mergeKept();
        long live = reserves.count();
        for (final Region region : regions.toList()) {
            live += region.chunksInUse;
            placement.addOwners(region, owners);
            all.put(region.base, region.byteSize());
        }
        reserves.forEach(all::put);
        returns.unreturned().forEach(all::put);
        return new CloseReport(live, counters.requested(), all.totalBytes());
    }

    // ---- looking

    /**
     * The counters at this moment.
     *
     * @return the statistics
     * @throws AllocatorClosedException if the arena is closed
     */
    public AllocatorStats stats() {
        lock.lock();
        try {
            requireOpen();
            return currentStats();
        } finally {
            lock.unlock();
        }
    }

    private AllocatorStats currentStats() {
        mergeKept();
        return counters.toStats(limitForStats(), Units.toBytes(placement.largest()));
    }

    private long limitForStats() {
        return config.maxMem() == 0 ? AllocatorStats.UNLIMITED : config.maxMem();
    }

    /**
     * What the caller of a live allocation asked for.
     *
     * @param address what the allocation returned
     * @return bytes
     * @throws IllegalArgumentException if it is not the start of a live allocation
     * @throws AllocatorClosedException if the arena is closed
     */
    public long requestedSize(long address) {
        return sizeOf(address, true);
    }

    /**
     * What a live allocation occupies, padding included.
     *
     * @param address what the allocation returned
     * @return bytes
     * @throws IllegalArgumentException if it is not the start of a live allocation
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocatedSize(long address) {
        return sizeOf(address, false);
    }

    private long sizeOf(long address, boolean isRequested) {
        lock.lock();
        try {
            requireOpen();
            final Region region = regions.find(address);
            final int chunk = region == null ? Chunks.NONE : liveChunk(region, address);
            if (chunk != Chunks.NONE) {
                return isRequested ? placement.chunks.requested(chunk) : Units.toBytes(placement.units(chunk));
            }
            final long reserved = reserves.sizeOf(address);
            if (reserved < 0) {
                throw new IllegalArgumentException(
                        "0x" + Long.toHexString(address) + " is not a live allocation of " + info);
            }
            return reserved;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The arena at this moment, in proportion to its chunks.
     *
     * @return regions, chunks and reserves
     * @throws AllocatorClosedException if the arena is closed
     */
    public ArenaSnapshot snapshot() {
        lock.lock();
        try {
            requireOpen();
            return currentSnapshot();
        } finally {
            lock.unlock();
        }
    }

    private ArenaSnapshot currentSnapshot() {
        mergeKept();
        return new ArenaSnapshot(
                info,
                config,
                currentStats(),
                growth.next(),
                regions.toList().stream().map(placement::snapshot).toList(),
                toList(reserves),
                toList(returns.unreturned()));
    }

    private static List<ArenaSnapshot.Block> toList(Blocks blocks) {
        final List<ArenaSnapshot.Block> list = new ArrayList<>();
        blocks.forEach((address, byteSize) -> list.add(new ArenaSnapshot.Block(address, byteSize)));
        return list;
    }

    /**
     * What the arena's own tables take of the Java heap.
     *
     * @return bytes, about
     */
    public long bookkeepingBytes() {
        lock.lock();
        try {
            return placement.bookkeepingBytes()
                    + (quickFit == null ? 0 : quickFit.bookkeepingBytes())
                    + reserves.bookkeepingBytes()
                    + returns.unreturned().bookkeepingBytes();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Walks all structures and compares them with one another: for tests, in proportion to the number of chunks.
     *
     * @throws IllegalStateException if they contradict each other; it says where
     */
    public void checkConsistency() {
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
        ConsistencyCheck.run(
                placement,
                quickFit == null ? 0 : quickFit.count(),
                quickFit == null ? 0 : quickFit.units(),
                counters,
                reserves.totalBytes(),
                returns.heldBytes());
    }

    /** Checks a small arena always, and a large one so rarely that it costs each mutation a few chunks' worth. */
    private boolean isConsistentNowAndThen() {
        if (--untilCheck < 0) {
            requireConsistent();
            final int count = placement.chunks.count();
            untilCheck = count <= CHECKED_ALWAYS ? 0 : count;
        }
        return true;
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the arena of " + info + " is closed");
        }
    }

    // ---- exhaustion

    private static String limitReached(long available, long wanted) {
        return "Available memory of " + available + " is smaller than requested bytes of " + wanted;
    }

    private static String deviceRefused(long wanted) {
        return "Failed to allocate memory for requested buffer of size " + wanted;
    }

    private OutOfMemoryException refused(
            OutOfMemoryException cause, long byteSize, long rounded, @Nullable SyncStream stream, boolean isReserve) {
        lock.lock();
        try {
            return outOfMemory(deviceRefused(rounded), byteSize, rounded, stream, isReserve, cause);
        } finally {
            lock.unlock();
        }
    }

    /** Counts a failure and describes it. Under the lock. */
    private OutOfMemoryException outOfMemory(
            String reason,
            long byteSize,
            long rounded,
            @Nullable SyncStream stream,
            boolean isReserve,
            @Nullable OutOfMemoryException cause) {
        counters.failed();
        final long largest = isReserve ? 0 : Units.toBytes(placement.largestFor(placement.asker(stream)));
        final Shortage shortage = new Shortage(
                info,
                byteSize,
                rounded,
                limitForStats(),
                counters.inUse(),
                counters.held(),
                largest,
                cause == null ? OutOfMemoryException.UNKNOWN : cause.shortage().deviceFree());
        final String request = (isReserve ? "reserve of " : "allocation of ") + byteSize + " bytes (" + rounded
                + " rounded) for " + (stream == null ? "no stream" : stream) + " failed";
        return new OutOfMemoryException(reason, shortage, ArenaDump.of(currentSnapshot(), request), cause);
    }
}
