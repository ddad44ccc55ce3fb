package allocator.arena.compact;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.provider.support.StackReserve;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.BitSet;
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
    private static final Unfinished NOTHING = new Unfinished(0, 0);

    private final CompactArena arena;
    private final PageTable table;
    private final PageSource source;

    /** What is being backed. Guarded by the arena's lock. */
    private Unfinished unfinished = NOTHING;

    /** Whether a chunk is being taken to be backed. */
    private boolean isBeginning;

    private long maps;
    private long unmaps;
    private long nanos;
    private long peakMapped;
    private long peakPhysical;

    /**
     * A chunk that is taken and not counted yet, as not all of it is backed.
     *
     * @param bytes its size
     * @param requested the bytes that its caller requested
     */
    record Unfinished(long bytes, long requested) {}

    PageGrowth(CompactArena arena) {
        this.arena = arena;
        table = arena.table;
        source = arena.source;
    }

    /** Returns what is taken and not counted. Under the arena's lock. */
    Unfinished unfinished() {
        return unfinished;
    }

    /** Allocates with calls of the device. */
    long allocate(long byteSize, @Nullable SyncStream stream) {
        StackReserve.touch();
        arena.requireOutsideDevice();
        try {
            return allocateOnce(byteSize, stream);
        } catch (OutOfMemoryException e) {
            // Pages that streams may still use come last: they have to be waited for.
            if (!arena.awaitOwners()) {
                throw arena.report.outOfMemory(byteSize, e);
            }
        }
        try {
            return allocateOnce(byteSize, stream);
        } catch (OutOfMemoryException e) {
            throw arena.report.outOfMemory(byteSize, e);
        }
    }

    private long allocateOnce(long byteSize, @Nullable SyncStream stream) {
        arena.deviceLock.lock();
        try {
            final long free = arena.locked(() -> {
                arena.placement.unbindEnded();
                return arena.tryTake(byteSize, stream);
            });
            if (free != NO_ADDRESS) {
                return free;
            }
            final Region range = ensureRange();
            final long address = arena.locked(() -> begin(byteSize, stream));
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
    private Region ensureRange() {
        final Region known = arena.locked(() -> arena.region);
        if (known != null) {
            return known;
        }
        final long byteSize = arena.config.addressBytes();
        final Region range = arena.placement.newRegion(Granules.floor(byteSize));
        final long base = source.reserve(byteSize);
        boolean isAttached = false;
        try {
            range.setBase(base);
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
                source.unreserve(base, byteSize);
            }
        }
        return range;
    }

    /** Takes the chunk that lacks the fewest pages. Under both locks. */
    private long begin(long byteSize, @Nullable SyncStream stream) {
        final long bytes = Granules.roundUp(byteSize);
        // At both ends it may share a page with others.
        final long leastNeeded = bytes - (table.idle() + 2) * arena.pageBytes;
        final boolean isImpossible = bytes > arena.config.addressBytes() || leastNeeded > arena.heldLimit.available();
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
        unfinished = new Unfinished(bytes, byteSize);
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
        final boolean creates = mayCreate && table.isWithinSlack(arena.counters.peakInUse(unfinished.bytes()));
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

    /** Returns the counters. Under the arena's lock. */
    PageStats stats() {
        final long pageBytes = arena.pageBytes;
        return new PageStats(
                table.pages() * pageBytes,
                table.idle() * pageBytes,
                table.mapped() * pageBytes,
                peakPhysical * pageBytes,
                peakMapped * pageBytes,
                maps,
                unmaps,
                nanos);
    }
}
