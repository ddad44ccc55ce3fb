package allocator.arena.compact;

import allocator.arena.page.PageSource;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Unit;
import java.util.List;

/**
 * The calls of the source, each with its effect on the tables. The caller holds the device lock, and has touched its
 * stack; the arena's lock is taken for the tables alone. What follows a call of the source does not fail.
 */
final class ExtentCalls {
    private static final int NONE = Extents.NONE;

    private final LanePages arena;
    private final PageTable table;
    private final PageSource source;

    private long creates;
    private long maps;
    private long unmaps;
    private long nanos;
    private long peakMapped;
    private long peakPages;

    ExtentCalls(LanePages arena) {
        this.arena = arena;
        table = arena.table;
        source = arena.source;
    }

    /** Creates an extent, which is in hand. Call {@link PageTable#ensureRoom} before. */
    int create(int pages) {
        final DeviceCall call = AllocatorEvents.growing(source.info(), DevicePart.PAGES, pages * arena.pageBytes);
        final long begin = System.nanoTime();
        boolean isCreated = false;
        final long number;
        try {
            number = source.create(pages);
            isCreated = true;
        } finally {
            call.end(isCreated, 0);
        }
        final long took = System.nanoTime() - begin;
        arena.lock.lock();
        try {
            final int extent = table.extents.add(number, pages);
            arena.counters.extended(pages * arena.pageBytes);
            peakPages = Math.max(peakPages, table.pages());
            creates++;
            nanos += took;
            return extent;
        } finally {
            arena.lock.unlock();
        }
    }

    /** Maps an extent in hand into the chunk that is being backed. If that fails, the extent is idle. */
    void map(int place, int extent) {
        final DeviceCall call = mapping(extent, true);
        final long begin = System.nanoTime();
        boolean isMapped = false;
        try {
            source.map(table.address(place), table.extents.number(extent));
            isMapped = true;
        } finally {
            final long took = System.nanoTime() - begin;
            call.end(isMapped, table.address(place));
            arena.lock.lock();
            try {
                if (isMapped) {
                    table.claimMapped(place, extent);
                    maps++;
                } else {
                    table.mappingFailed(place, extent);
                }
                nanos += took;
                peakMapped = Math.max(peakMapped, table.mappings.mappedPlaces());
            } finally {
                arena.lock.unlock();
            }
        }
    }

    /** Ends a mapping. Call {@link PageTable#beginUnmap} before. If that fails, the mapping is ended later. */
    void unmap(int mapping) {
        final DeviceCall call = mapping(table.mappings.extent(mapping), false);
        final long begin = System.nanoTime();
        boolean isUnmapped = false;
        try {
            source.unmap(table.address(mapping));
            isUnmapped = true;
        } finally {
            call.end(isUnmapped, table.address(mapping));
        }
        final long took = System.nanoTime() - begin;
        arena.lock.lock();
        try {
            table.endUnmap(mapping);
            unmaps++;
            nanos += took;
        } finally {
            arena.lock.unlock();
        }
    }

    private DeviceCall mapping(int extent, boolean isMap) {
        return AllocatorEvents.mapping(source.info(), table.extents.size(extent) * arena.pageBytes, isMap);
    }

    /**
     * Takes over an extent that another lane has in hand: ends its mappings there, and makes it one in hand here. If
     * that fails, it is idle there. Call {@link PageTable#ensureRoom} before.
     */
    int takeOver(ExtentCalls other, int extent) {
        boolean isUnmapped = false;
        try {
            other.endMappings(extent);
            isUnmapped = true;
        } finally {
            if (!isUnmapped) {
                other.putBack(extent);
            }
        }
        final int size = other.table.extents.size(extent);
        final long number = other.remove(extent, size);
        arena.lock.lock();
        try {
            arena.counters.extended(size * arena.pageBytes);
            final int taken = table.extents.add(number, size);
            peakPages = Math.max(peakPages, table.pages());
            return taken;
        } finally {
            arena.lock.unlock();
        }
    }

    /** Releases an extent in hand, for another lane. If that fails, it is idle. */
    void releaseSpare(int extent) {
        boolean isReleased = false;
        try {
            release(extent);
            isReleased = true;
        } finally {
            if (!isReleased) {
                putBack(extent);
            }
        }
    }

    /** Returns the size of an extent in hand in pages. */
    int pages(int extent) {
        return table.extents.size(extent);
    }

    private void putBack(int extent) {
        arena.lock.lock();
        try {
            table.extents.putBack(extent);
        } finally {
            arena.lock.unlock();
        }
    }

    /** Removes an extent in hand that another lane takes over; returns its number in the source. */
    private long remove(int extent, int size) {
        arena.lock.lock();
        try {
            final long number = table.extents.number(extent);
            table.extents.remove(extent);
            arena.counters.detached();
            arena.counters.returned(size * arena.pageBytes);
            return number;
        } finally {
            arena.lock.unlock();
        }
    }

    /** Ends the mappings of an extent in hand. */
    private void endMappings(int extent) {
        for (int mapping = beginUnmap(extent); mapping != NONE; mapping = beginUnmap(extent)) {
            unmap(mapping);
        }
    }

    /** Ends the mappings of an extent in hand, and releases it. If that fails, it stays in hand. */
    void release(int extent) {
        endMappings(extent);
        final DeviceCall call = AllocatorEvents.shrinking(
                source.info(), DevicePart.PAGES, table.extents.size(extent) * arena.pageBytes);
        final long begin = System.nanoTime();
        boolean isReleased = false;
        try {
            source.release(table.extents.number(extent));
            isReleased = true;
        } finally {
            call.end(isReleased, 0);
        }
        final long took = System.nanoTime() - begin;
        arena.lock.lock();
        try {
            final long byteSize = table.extents.size(extent) * arena.pageBytes;
            table.extents.remove(extent);
            arena.counters.detached();
            arena.counters.shrunk(byteSize);
            nanos += took;
        } finally {
            arena.lock.unlock();
        }
    }

    /** Begins to end a mapping of an extent in hand; returns {@link #NONE} if it has none. */
    private int beginUnmap(int extent) {
        arena.lock.lock();
        try {
            final int mapping = table.extents.mappings(extent);
            if (mapping != NONE) {
                table.beginUnmap(mapping);
            }
            return mapping;
        } finally {
            arena.lock.unlock();
        }
    }

    /** Returns the counters. Under the lane's lock. */
    List<AllocatorStats.Counter> statistics(MoveCap cap) {
        final long pageBytes = arena.pageBytes;
        return List.of(
                bytes("PhysicalBytes", table.pages() * pageBytes),
                bytes("IdleBytes", table.idle() * pageBytes),
                bytes("MappedBytes", table.mappings.mappedPlaces() * pageBytes),
                new AllocatorStats.Counter("PeakPhysicalBytes", peakPages * pageBytes, Unit.BYTES, true),
                new AllocatorStats.Counter("PeakMappedBytes", peakMapped * pageBytes, Unit.BYTES, true),
                count("NumExtents", creates),
                count("NumPageMaps", maps),
                count("NumPageUnmaps", unmaps),
                count("NumExtentMoves", cap.moves()),
                count("NumDeniedMoves", cap.denials()),
                new AllocatorStats.Counter("PageNanoseconds", nanos, Unit.NANOSECONDS, true));
    }

    private static AllocatorStats.Counter bytes(String name, long value) {
        return new AllocatorStats.Counter(name, value, Unit.BYTES, false);
    }

    private static AllocatorStats.Counter count(String name, long value) {
        return new AllocatorStats.Counter(name, value, Unit.COUNT, true);
    }
}
