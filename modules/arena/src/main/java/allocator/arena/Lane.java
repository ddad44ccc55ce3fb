package allocator.arena;

import allocator.arena.StreamSlots.Slot;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
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
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Regions, their chunks and one lock: a whole arena, of which a {@link BfcArena} has one or more.
 *
 * <p>Where memory comes from within the regions is decided by {@link Placement}; this class adds growth, reserves,
 * shrinking, statistics, errors and locks. What its methods promise is said at those of {@link BfcArena}.
 *
 * <p><b>Locks.</b> One guards all state and is never held while the upstream allocator or a stream is called. The
 * other, taken first, lets one thread at a time take memory from the device or return it: who waited for it looks for a
 * free chunk once more. Who finds one never waits for the device.
 *
 * <p><b>Memory that cannot be returned</b> stays counted as held, is not used again, is listed by
 * {@link #currentSnapshot}, and the next shrink and the close try again; see {@link Returns}.
 */
final class Lane {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    private static final long NO_ADDRESS = Placement.NO_ADDRESS;

    /** Up to how many chunks every mutation is checked, where assertions are on. */
    private static final int CHECKED_ALWAYS = 64;

    private final Lanes lanes;

    /** In order of coming: 0 is the main lane. */
    private final int number;

    private final Allocator upstream;
    private final MemoryInfo info;
    private final ArenaConfig config;

    /** Held by whoever takes memory from the device or returns it. Before {@link #lock}. */
    private final ReentrantLock deviceLock;

    /** Guarded by the device lock. */
    private final Budget budget;

    /** Guards everything below. */
    private final BriefLock lock = new BriefLock();

    private final Placement placement;
    private final Regions regions;

    /** In front of the placement, where the settings say so. */
    private final @Nullable QuickFit quickFit;

    private final Counters counters;
    private final Blocks reserves = new Blocks();
    private final Growth growth;
    private final Returns returns;

    private boolean isClosed;

    /** Who allocated last. */
    private long latestAsker;

    /** Mutations until the next check, where assertions are on. */
    private long untilCheck;

    Lane(Lanes lanes, int number, ArenaConfig config) {
        this.lanes = lanes;
        this.number = number;
        this.config = config;
        upstream = lanes.upstream;
        deviceLock = lanes.deviceLock;
        budget = lanes.budget;
        info = upstream.info();
        placement = new Placement(Units.ceil(config.maxDeadBytesPerChunk()));
        regions = placement.regions;
        quickFit = config.placementPolicy() == PlacementPolicy.QUICK_FIT
                ? new QuickFit(placement, Units.ceil(config.maxKeptBytes()))
                : null;
        counters = new Counters(budget);
        growth = new Growth(config);
        returns = new Returns(upstream, lock, counters);
    }

    // ---- allocating

    /** Allocates for a stream, or for nobody in particular, and tells if the asker met another one at the lock. */
    long allocate(long byteSize, @Nullable SyncStream stream, long asker) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > OptionKey.MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, Units.BYTES);
        }
        final long address;
        final boolean isMeeting;
        final boolean waited = lock.lock();
        try {
            requireOpen();
            isMeeting = waited && asker != latestAsker;
            latestAsker = asker;
            if (byteSize == 0) {
                return NO_ADDRESS;
            }
            address = tryTake(byteSize, stream);
        } finally {
            lock.unlock();
        }
        if (isMeeting) {
            lanes.choice.met(this, asker);
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
        final long available = Units.toBytes(Units.floor(budget.available()));
        if (rounded > available) {
            throw outOfMemory(limitReached(available, rounded), byteSize, rounded, stream, false, null);
        }
        if (rounded > Growth.MAX_REGION || regions.isFull()) {
            throw outOfMemory(deviceRefused(rounded), byteSize, rounded, stream, false, null);
        }
        final long growthBefore = growth.next();
        final long planned = Math.min(growth.plan(rounded), available);
        try {
            placement.prepareRegion(Units.floor(planned));
        } catch (Throwable e) {
            growth.restore(growthBefore);
            throw e;
        }
        return planned;
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
            final Region region = new Region(regions.freeId(), base, Units.floor(byteSize), regions.count() == 0);
            lanes.obtained(base, byteSize);
            lanes.entered(this, base, byteSize);
            return region;
        } catch (Throwable e) {
            upstream.free(base);
            throw e;
        }
    }

    private long addRegion(Region region, long byteSize, @Nullable SyncStream stream) {
        final long address;
        lock.lock();
        try {
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

    /** Allocates outside the regions. */
    long reserve(long byteSize) {
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
                final long available = budget.available();
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
        lanes.obtained(address, byteSize);
        lock.lock();
        try {
            reserves.put(address, byteSize);
            counters.reserved(byteSize);
            assert isConsistentNowAndThen();
        } finally {
            lock.unlock();
        }
        return address;
    }

    // ---- freeing

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
            freeReserve(address);
        }
    }

    private void freeChunk(Region region, long address) {
        final int chunk = liveChunk(region, address);
        if (chunk == Chunks.NONE) {
            throw BadFrees.inRegion(placement, region, address, info);
        }
        final long units = placement.units(region, chunk);
        final long requested = placement.chunks.requested(chunk);
        if (quickFit == null) {
            placement.prepare();
            counters.freed(Units.toBytes(units), requested);
            placement.free(region, chunk, units);
        } else {
            counters.freed(Units.toBytes(units), requested);
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

    /** Memory has been handed out once more: if it could not be returned, it was returned after all. */
    void forgetReturned(long address, long byteSize) {
        lock.lock();
        try {
            returns.forgetOverlapping(address, byteSize);
        } finally {
            lock.unlock();
        }
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

    void releaseStream(SyncStream stream) {
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

    void endRun(SyncStream stream) {
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

    ShrinkReport shrink() {
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
            owners.forEach(Lane::waitFor);
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
            lanes.leaving(this, region.base);
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

    CloseReport close() {
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

    /** Lets nothing change until {@link #goOn}. */
    void stop() {
        lock.lock();
    }

    void goOn() {
        lock.unlock();
    }

    /** The counters at this moment. Under the lock. */
    AllocatorStats currentStats() {
        requireOpen();
        mergeKept();
        return counters.toStats(limitForStats(), Units.toBytes(placement.largest()));
    }

    private long limitForStats() {
        return config.maxMem() == 0 ? AllocatorStats.UNLIMITED : config.maxMem();
    }

    /** What the caller of a live allocation asked for. */
    long requestedSize(long address) {
        return sizeOf(address, true);
    }

    /** What a live allocation occupies. */
    long allocatedSize(long address) {
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

    /** The lane as a value. Under the lock. */
    ArenaSnapshot currentSnapshot() {
        requireOpen();
        mergeKept();
        return new ArenaSnapshot(
                info,
                config,
                currentStats(),
                growth.next(),
                regions.toList().stream()
                        .map(region -> placement.snapshot(region, number))
                        .toList(),
                toList(reserves),
                toList(returns.unreturned()));
    }

    private static List<ArenaSnapshot.Block> toList(Blocks blocks) {
        final List<ArenaSnapshot.Block> list = new ArrayList<>();
        blocks.forEach((address, byteSize) -> list.add(new ArenaSnapshot.Block(address, byteSize)));
        return list;
    }

    long bookkeepingBytes() {
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
