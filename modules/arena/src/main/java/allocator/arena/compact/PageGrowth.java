package allocator.arena.compact;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Repair;
import allocator.arena.page.PageSource;
import allocator.provider.support.StackReserve;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Unit;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Backs requests for which no backed chunk is free: chooses a chunk, and creates or moves the pages that it lacks.
 *
 * <p>The chunk is taken first, so that no other thread uses its addresses. Then each of its pages is used, mapped from
 * elsewhere, or created, one after the other; the device is called without the arena's lock. If that fails, the chunk
 * is free again. The pages made for it stay, idle.
 */
final class PageGrowth {
    private static final long NO_ADDRESS = Placement.NO_ADDRESS;

    /** How many times as long as the memory of the device the range of addresses is. */
    private static final int RANGE_FACTOR = 2;

    /** The least length of the range, in pages. */
    private static final int LEAST_RANGE = 4096;

    /** The most places: more make no table. */
    private static final int MOST_PLACES = Integer.MAX_VALUE / 2;

    private static final Repair.Live NOTHING = new Repair.Live(0, 0);

    private final LanePages arena;
    private final PageTable table;
    private final PageSource source;

    /** A chunk that is taken and not counted yet, as not all of it is backed. Guarded by the lane's lock. */
    private Repair.Live unfinished = NOTHING;

    /** Whether a chunk is being taken to be backed. */
    private boolean isBeginning;

    private long maps;
    private long unmaps;
    private long nanos;
    private long peakMapped;
    private long peakPhysical;

    PageGrowth(LanePages arena) {
        this.arena = arena;
        table = arena.table;
        source = arena.source;
    }

    /** Returns what is taken and not counted. Under the arena's lock. */
    Repair.Live unfinished() {
        return unfinished;
    }

    /** Allocates with calls of the device. */
    long allocate(long byteSize, @Nullable SyncStream stream) {
        StackReserve.touch();
        arena.lane.requireOutsideDevice();
        try {
            return allocateOnce(byteSize, stream);
        } catch (OutOfMemoryException e) {
            // Pages that streams may still use come last: they have to be waited for.
            if (!arena.awaitOwners()) {
                throw arena.lane.failure(byteSize, stream, e);
            }
        }
        try {
            return allocateOnce(byteSize, stream);
        } catch (OutOfMemoryException e) {
            throw arena.lane.failure(byteSize, stream, e);
        }
    }

    private long allocateOnce(long byteSize, @Nullable SyncStream stream) {
        arena.deviceLock.lock();
        try {
            final long free = arena.locked(() -> {
                arena.placement.unbindEnded();
                return arena.lane.tryTake(byteSize, stream);
            });
            if (free != NO_ADDRESS) {
                return free;
            }
            final Region range = ensureRange(byteSize);
            final long address = arena.locked(() -> begin(range, byteSize, stream));
            boolean isBacked = false;
            try {
                final long bytes = Granules.roundUp(byteSize);
                final int last = table.place(address + bytes - 1);
                boolean isDeviceFull = false;
                int place = nextUnbacked(table.place(address));
                while (place <= last) {
                    isDeviceFull = back(place, stream, isDeviceFull);
                    place = nextUnbacked(place);
                }
                arena.locked(() -> {
                    table.endGrowth();
                    unfinished = NOTHING;
                    arena.counters.allocated(bytes, byteSize);
                    arena.counters.allocs++;
                    return true;
                });
                isBacked = true;
            } finally {
                if (!isBacked) {
                    abandon(range, address, stream);
                }
            }
            return address;
        } finally {
            arena.deviceLock.unlock();
        }
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
                if (rangeBytes < LEAST_RANGE * arena.pageBytes || rangeBytes / 2 < byteSize) {
                    throw e;
                }
            }
        }
    }

    /** Returns how long the range should be: so long that free addresses are never in short supply. */
    private long rangeBytes() {
        final long most = Math.min(Region.MAX_BYTES, (long) MOST_PLACES * arena.pageBytes);
        final long wanted = Math.min(source.memoryBytes(), most / RANGE_FACTOR) * RANGE_FACTOR;
        return Math.max(wanted & -arena.pageBytes, LEAST_RANGE * arena.pageBytes);
    }

    private Region reserveRange(long byteSize) {
        final Region range = arena.placement.newRegion(Granules.floor(byteSize));
        final long base = source.reserve(byteSize);
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
                source.unreserve(base, byteSize);
            }
        }
        return range;
    }

    /** Takes the chunk that lacks the fewest pages. Under both locks. */
    private long begin(Region range, long byteSize, @Nullable SyncStream stream) {
        final long bytes = Granules.roundUp(byteSize);
        // At both ends it may share a page with others.
        final long leastNeeded = bytes - (table.idle() + 2) * arena.pageBytes;
        final boolean isImpossible = bytes > range.byteSize() || leastNeeded > arena.heldLimit.available();
        final BitSet claimed = new BitSet(isImpossible ? 0 : (int) (bytes / arena.pageBytes) + 2);
        isBeginning = true;
        final long address =
                isImpossible ? NO_ADDRESS : arena.placement.takeUnbacked(Granules.floor(bytes), byteSize, stream);
        if (address == NO_ADDRESS) {
            isBeginning = false;
            throw new OutOfMemoryException(
                    "Available memory of " + arena.heldLimit.available() + " in pages that can be created and of "
                            + table.idle() * arena.pageBytes + " in idle ones is smaller than requested bytes of "
                            + bytes,
                    OutOfMemoryException.Shortage.ofDevice(arena.info, byteSize, OutOfMemoryException.UNKNOWN));
        }
        unfinished = new Repair.Live(bytes, byteSize);
        table.ensureRoom(table.place(address + bytes - 1));
        table.beginGrowth(address, bytes, stream, claimed);
        isBeginning = false;
        return address;
    }

    /** Forgets a chunk that was being taken when that failed; the placement frees it again. Under the arena's lock. */
    void cancel() {
        if (isBeginning) {
            isBeginning = false;
            unfinished = NOTHING;
            table.endGrowth();
        }
    }

    private int nextUnbacked(int from) {
        arena.lock.lock();
        try {
            return table.nextUnbacked(from);
        } finally {
            arena.lock.unlock();
        }
    }

    /** Backs the next place; returns whether the device has no memory for another page. */
    private boolean back(int place, @Nullable SyncStream stream, boolean isDeviceFull) {
        final Next next = arena.locked(() -> plan(place, stream, isDeviceFull));
        if (next.isToBeUnmapped) {
            unmap(place);
        }
        int page = next.page;
        if (page == PageTable.NONE) {
            try {
                page = create(place);
            } catch (OutOfMemoryException e) {
                final int moved = isDeviceFull ? PageTable.NONE : arena.locked(() -> table.findIdle(stream));
                if (moved == PageTable.NONE) {
                    throw e;
                }
                return true; // the next plan moves it
            }
        }
        map(place, page);
        return isDeviceFull;
    }

    /** What a place needs. */
    private record Next(boolean isToBeUnmapped, int page) {}

    private Next plan(int place, @Nullable SyncStream stream, boolean isDeviceFull) {
        table.ensureRoom(place);
        final boolean mayCreate = !isDeviceFull && arena.pageBytes <= arena.heldLimit.available();
        final boolean creates = mayCreate && table.isWithinSlack(arena.counters.peakInChunks(unfinished.inUse()));
        final int page = creates ? PageTable.NONE : table.findIdle(stream);
        if (page == PageTable.NONE && !mayCreate) {
            throw new OutOfMemoryException(
                    "The limit or the device has no memory for another page of " + arena.pageBytes + " bytes",
                    OutOfMemoryException.Shortage.ofDevice(
                            arena.info, unfinished.requested(), OutOfMemoryException.UNKNOWN));
        }
        return new Next(table.isToBeUnmapped(place), page);
    }

    /** Ends the mapping at a place. Under the device lock. */
    void unmap(int place) {
        final long begin = System.nanoTime();
        source.unmap(table.address(place));
        final long took = System.nanoTime() - begin;
        arena.lock.lock();
        try {
            table.endUnmap(place);
            unmaps++;
            nanos += took;
        } finally {
            arena.lock.unlock();
        }
    }

    private int create(int place) {
        final long begin = System.nanoTime();
        final long number = source.create();
        final long took = System.nanoTime() - begin;
        arena.lock.lock();
        try {
            final int page = table.add(number, place);
            arena.counters.extended(arena.pageBytes);
            peakPhysical = Math.max(peakPhysical, table.pages());
            nanos += took;
            return page;
        } finally {
            arena.lock.unlock();
        }
    }

    private void map(int place, int page) {
        final long begin = System.nanoTime();
        boolean isMapped = false;
        try {
            source.map(table.address(place), table.number(page));
            isMapped = true;
        } finally {
            final long took = System.nanoTime() - begin;
            arena.lock.lock();
            try {
                if (isMapped) {
                    table.claimMapped(place, page);
                    maps++;
                } else {
                    table.mappingFailed(place, page);
                }
                nanos += took;
                peakMapped = Math.max(peakMapped, table.mapped());
            } finally {
                arena.lock.unlock();
            }
        }
    }

    /** Frees the chunk that was to be backed. */
    private void abandon(Region range, long address, @Nullable SyncStream stream) {
        arena.locked(() -> {
            final int chunk = arena.placement.liveChunk(range, address);
            arena.placement.prepareFree();
            table.abandonGrowth(stream, stream == null ? 0 : stream.syncId());
            arena.placement.freeUnbacked(range, chunk, arena.placement.granules(range, chunk));
            unfinished = NOTHING;
            return true;
        });
    }

    /** Returns the counters. Under the lane's lock. */
    List<AllocatorStats.Counter> statistics() {
        final long pageBytes = arena.pageBytes;
        return List.of(
                LanePages.counter("PhysicalBytes", table.pages() * pageBytes, Unit.BYTES, false),
                LanePages.counter("IdleBytes", table.idle() * pageBytes, Unit.BYTES, false),
                LanePages.counter("MappedBytes", table.mapped() * pageBytes, Unit.BYTES, false),
                LanePages.counter("PeakPhysicalBytes", peakPhysical * pageBytes, Unit.BYTES, true),
                LanePages.counter("PeakMappedBytes", peakMapped * pageBytes, Unit.BYTES, true),
                LanePages.counter("NumPageMaps", maps, Unit.COUNT, true),
                LanePages.counter("NumPageUnmaps", unmaps, Unit.COUNT, true),
                LanePages.counter("PageNanoseconds", nanos, Unit.NANOSECONDS, true));
    }
}
