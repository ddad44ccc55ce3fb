package allocator.arena.compact;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Repair;
import allocator.provider.support.StackReserve;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Backs requests for which no backed chunk is free: chooses a chunk, and creates or moves the extents that it lacks.
 *
 * <p>The chunk is taken first, so that no other thread uses its addresses. Then its pages are used where they are,
 * mapped from elsewhere, or created, one extent after the other; the device is called without the arena's lock. If that
 * fails, the chunk is free again. The extents made for it stay, idle.
 */
final class PageGrowth {
    private static final long NO_ADDRESS = Placement.NO_ADDRESS;
    private static final int NONE = PageTable.NONE;

    /**
     * How many times their memory extents may be mapped, before mappings of no use are ended. Fewer would end mappings
     * that a program needs again when it repeats what it has done.
     */
    private static final int MOST_MAPPED = 2;

    /** How many mappings of no use a request ends at most. */
    private static final int MOST_ENDED = 4;

    /** How many times a request is tried while other streams are busy with all free addresses. */
    private static final int MOST_ATTEMPTS = 200;

    /** How many times as long as the memory of the device the range of addresses is. */
    private static final int RANGE_FACTOR = 2;

    /** The least length of the range, in pages. */
    private static final int LEAST_RANGE = 4096;

    /** The most places: more make no table. */
    private static final int MOST_PLACES = Integer.MAX_VALUE / 2;

    private static final Repair.Live NOTHING = new Repair.Live(0, 0);

    private final LanePages arena;
    private final PageTable table;
    private final ExtentCalls calls;
    private final ExtentChoice choice;
    private final Takeover takeover;

    /** A chunk that is taken and not counted yet, as not all of it is backed. Guarded by the lane's lock. */
    private Repair.Live unfinished = NOTHING;

    /** Whether a chunk is being taken to be backed. */
    private boolean isBeginning;

    PageGrowth(LanePages arena, ExtentSizes sizes) {
        this.arena = arena;
        table = arena.table;
        calls = new ExtentCalls(arena);
        choice = new ExtentChoice(arena, sizes);
        takeover = new Takeover(arena, calls, choice);
    }

    /** Returns what is taken and not counted. Under the arena's lock. */
    Repair.Live unfinished() {
        return unfinished;
    }

    /** Returns the calls of the source. */
    ExtentCalls calls() {
        return calls;
    }

    /** Returns what takes extents over from other lanes. */
    Takeover takeover() {
        return takeover;
    }

    /** Allocates, if there is no other way with calls of the device. */
    long allocate(long byteSize, @Nullable SyncStream stream) {
        StackReserve.touch();
        // Where the device is busy, a chunk that is backed is worth a search.
        final boolean isBusy = arena.deviceLock.isLocked() || arena.isInDevice();
        final long backed = arena.locked(() -> isBusy ? takeBacked(byteSize, stream) : NO_ADDRESS);
        if (backed != NO_ADDRESS) {
            return backed;
        }
        arena.lane.requireOutsideDevice();
        try {
            final long address = allocateOnce(byteSize, stream, false);
            if (address != NO_ADDRESS) {
                return address;
            }
        } catch (OutOfMemoryException e) {
            // Idle extents that reach beyond the chunk may hold what it lacks.
        }
        return allocateExactly(byteSize, stream);
    }

    private long allocateExactly(long byteSize, @Nullable SyncStream stream) {
        OutOfMemoryException last = null;
        for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
            OutOfMemoryException shortage = null;
            try {
                final long address = allocateOnce(byteSize, stream, true);
                if (address != NO_ADDRESS) {
                    return address;
                }
            } catch (OutOfMemoryException e) {
                shortage = e;
            }
            // Extents that streams may still use come last: they have to be waited for. Streams that are busy with all
            // free addresses may be done by now, so that there is nothing to wait for.
            final boolean hasWaited = arena.awaitOwners();
            if (shortage != null && (last != null || !hasWaited)) {
                throw arena.lane.failure(byteSize, stream, shortage);
            }
            last = shortage;
        }
        throw arena.lane.failure(
                byteSize,
                stream,
                shortage(
                        byteSize,
                        "No free addresses can be backed now for requested bytes of " + Granules.roundUp(byteSize)));
    }

    /** Returns the address, {@link #NO_ADDRESS} if other streams use the pages at all free addresses. */
    private long allocateOnce(long byteSize, @Nullable SyncStream stream, boolean isExact) {
        arena.deviceLock.lock();
        try {
            endUselessMappings();
            final Region range = ensureRange(byteSize);
            final long address = arena.locked(() -> take(range, byteSize, stream, isExact));
            if (!table.growing.isActive()) {
                return address;
            }
            boolean isBacked = false;
            try {
                back(stream);
                arena.locked(() -> {
                    table.growing.end();
                    unfinished = NOTHING;
                    arena.lane.allocated(Granules.roundUp(byteSize), byteSize);
                    return true;
                });
                isBacked = true;
            } finally {
                if (!isBacked) {
                    arena.locked(this::abandonLeft);
                }
            }
            return address;
        } finally {
            arena.deviceLock.unlock();
        }
    }

    /**
     * Takes a chunk that is backed, or begins to back one. Under both locks.
     *
     * @return its address, {@link #NO_ADDRESS} if other streams use the pages at all free addresses
     * @throws OutOfMemoryException if there are too few pages
     */
    private long take(Region range, long byteSize, @Nullable SyncStream stream, boolean isExact) {
        abandonLeft();
        final long bytes = Granules.roundUp(byteSize);
        // At both ends it may share a page with others.
        final long leastNeeded = bytes - (table.idle() + 2) * arena.pageBytes;
        final boolean isPossible = bytes <= range.byteSize() && leastNeeded <= arena.heldLimit.available();
        final long backed = isExact || !isPossible ? takeBacked(byteSize, stream) : NO_ADDRESS;
        if (backed != NO_ADDRESS) {
            return backed;
        }
        final long address = isPossible ? begin(byteSize, stream, isExact) : NO_ADDRESS;
        if (!isPossible) {
            throw shortage(
                    byteSize,
                    "Available memory of " + arena.heldLimit.available() + " in pages that can be created and of "
                            + table.idle() * arena.pageBytes + " in idle ones is smaller than requested bytes of "
                            + bytes);
        }
        return address;
    }

    private OutOfMemoryException shortage(long byteSize, String reason) {
        return new OutOfMemoryException(
                reason, OutOfMemoryException.Shortage.ofDevice(arena.info, byteSize, OutOfMemoryException.UNKNOWN));
    }

    /** Takes a chunk that is backed, wherever it is. Under the arena's lock. */
    private long takeBacked(long byteSize, @Nullable SyncStream stream) {
        arena.placement.unbindEnded();
        final long granules = Granules.ceil(byteSize);
        final long address = arena.region == null ? NO_ADDRESS : arena.placement.takeBacked(granules, byteSize, stream);
        if (address != NO_ADDRESS) {
            arena.lane.allocated(Granules.toBytes(granules), byteSize);
        }
        return address;
    }

    /** Reserves the range of addresses, unless there is one. Under the device lock. */
    private Region ensureRange(long byteSize) {
        final Region known = arena.locked(() -> arena.region);
        if (known != null) {
            return known;
        }
        long rangeBytes = rangeBytes();
        while (true) {
            try {
                return reserveRange(rangeBytes);
            } catch (OutOfMemoryException e) {
                rangeBytes = (rangeBytes >> 1) & -arena.pageBytes;
                if (rangeBytes < byteSize) {
                    throw e;
                }
            }
        }
    }

    /** Returns how long the range should be: so long that free addresses are never in short supply. */
    private long rangeBytes() {
        final long most = Math.min(Region.MAX_BYTES, (long) MOST_PLACES * arena.pageBytes);
        final long wanted = Math.min(arena.source.memoryBytes(), most / RANGE_FACTOR) * RANGE_FACTOR;
        return Math.max(wanted & -arena.pageBytes, LEAST_RANGE * arena.pageBytes);
    }

    private Region reserveRange(long byteSize) {
        final Region range = arena.placement.newRegion(Granules.floor(byteSize));
        final long base = arena.source.reserve(byteSize);
        boolean isAttached = false;
        try {
            range.setBase(base);
            arena.lane.entered(base, byteSize);
            arena.locked(() -> {
                arena.placement.prepareRegion(Granules.floor(byteSize));
                arena.placement.attach(range);
                table.setBase(base);
                arena.region = range;
                return true;
            });
            isAttached = true;
        } finally {
            if (!isAttached) {
                arena.lane.leaving(base);
                arena.source.unreserve(base, byteSize);
            }
        }
        return range;
    }

    /** Takes the chunk that lacks the fewest pages, and begins to back it if it lacks any. Under both locks. */
    private long begin(long byteSize, @Nullable SyncStream stream, boolean isExact) {
        arena.placement.unbindEnded();
        final long bytes = Granules.roundUp(byteSize);
        final BitSet claimed = new BitSet((int) (bytes / arena.pageBytes) + 2);
        table.setExact(isExact);
        isBeginning = true;
        final long address = arena.placement.takeLeastLacking(Granules.floor(bytes), byteSize, stream);
        if (address == NO_ADDRESS || arena.placement.isBacked()) {
            isBeginning = false;
            table.setExact(false);
            if (address != NO_ADDRESS) {
                arena.lane.allocated(bytes, byteSize);
            }
            return address;
        }
        unfinished = new Repair.Live(bytes, byteSize);
        table.ensureRoom(table.place(address + bytes - 1));
        table.beginGrowth(address, bytes, stream, claimed);
        table.setExact(false);
        choice.begin(byteSize);
        isBeginning = false;
        return address;
    }

    /** Forgets a chunk that was being taken when that failed; the placement frees it again. Under the arena's lock. */
    void cancel() {
        if (isBeginning) {
            isBeginning = false;
            unfinished = NOTHING;
            table.setExact(false);
            table.growing.end();
        }
    }

    /** Backs all places of the chunk. */
    private void back(@Nullable SyncStream stream) {
        for (int place = nextUnbacked(); place != NONE; place = nextUnbacked()) {
            final int from = place;
            int extent = NONE;
            while (extent == NONE) {
                final ExtentChoice.Next next = arena.locked(
                        () -> choice.choose(from, arena.counters.peakInChunks(unfinished.inUse()), stream));
                if (next.isReleased()) {
                    calls.release(next.extent());
                } else {
                    extent = next.extent() == NONE ? create(next.pages()) : next.extent();
                }
            }
            endMappingsAt(place, extent);
            calls.map(place, extent);
        }
    }

    private int nextUnbacked() {
        arena.lock.lock();
        try {
            return table.growing.nextUnclaimed();
        } finally {
            arena.lock.unlock();
        }
    }

    /** Creates an extent in hand, or takes one over; returns {@link #NONE} if the device has no memory for it. */
    private int create(int pages) {
        final int taken = takeover.take(pages);
        if (taken != NONE) {
            return taken;
        }
        try {
            return calls.create(pages);
        } catch (OutOfMemoryException e) {
            choice.isTooLarge(pages, e);
            return NONE;
        }
    }

    /** Ends the mappings that are in the way of an extent. */
    private void endMappingsAt(int place, int extent) {
        while (true) {
            final int mapping;
            arena.lock.lock();
            try {
                mapping = table.mappings.within(place, table.extents.size(extent));
            } finally {
                arena.lock.unlock();
            }
            if (mapping == NONE) {
                return;
            }
            calls.unmap(mapping);
        }
    }

    /** Ends a few of the mappings through which nothing is in use, if there are many. */
    private void endUselessMappings() {
        for (int i = 0; i < MOST_ENDED; i++) {
            final int mapping = arena.locked(() -> hasManyMappings() ? table.beginUnmapUseless() : NONE);
            if (mapping == NONE) {
                return;
            }
            calls.unmap(mapping);
        }
    }

    private boolean hasManyMappings() {
        return table.mappings.mappedPlaces() > (long) MOST_MAPPED * table.pages();
    }

    /**
     * Frees a chunk that was to be backed, if there is one: backing it has failed, and perhaps an earlier call of this
     * method as well. Under both locks.
     *
     * @return whether there was one
     */
    boolean abandonLeft() {
        final Region range = arena.region;
        if (range == null || !table.growing.isActive()) {
            return false;
        }
        final int chunk = arena.placement.liveChunk(range, table.growing.address());
        arena.placement.prepareFree();
        table.extents.putBackAll();
        table.abandonGrowth();
        arena.placement.freeUnbacked(range, chunk, arena.placement.granules(range, chunk));
        unfinished = NOTHING;
        return true;
    }

    /** Returns the counters. Under the lane's lock. */
    List<AllocatorStats.Counter> statistics() {
        return calls.statistics(choice.cap());
    }
}
