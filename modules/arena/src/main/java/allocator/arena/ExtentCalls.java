package allocator.arena;

import allocator.arena.compact.PageTable;
import allocator.arena.page.PageSource;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Unit;
import java.util.List;

/**
 * The calls of the source, each with its effect on the tables. The caller holds the device lock; the lane's lock is
 * taken for the tables alone. What follows a call of the source does not fail.
 */
final class ExtentCalls {
    private static final int NONE = PageTable.NONE;

    private final PageSupply supply;
    private final Lane lane;
    private final PageTable table;
    private final PageSource source;

    private long creates;
    private long maps;
    private long unmaps;
    private long nanos;
    private long peakMapped;
    private long peakPages;

    ExtentCalls(PageSupply supply) {
        this.supply = supply;
        lane = supply.lane;
        table = supply.table;
        source = supply.source;
    }

    /** Creates an extent, which is in hand. Call {@link PageTable#ensureRoom} before. */
    int create(int pages) {
        final DeviceCall call = AllocatorEvents.growing(source.info(), DevicePart.PAGES, pages * supply.pageBytes);
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
        lane.lock.lock();
        try {
            final int extent = table.extents.add(number, pages);
            lane.counters.extended(pages * supply.pageBytes);
            peakPages = Math.max(peakPages, table.pages());
            creates++;
            nanos += took;
            return extent;
        } finally {
            lane.lock.unlock();
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
            lane.lock.lock();
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
                lane.lock.unlock();
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
        lane.lock.lock();
        try {
            table.endUnmap(mapping);
            unmaps++;
            nanos += took;
        } finally {
            lane.lock.unlock();
        }
    }

    private DeviceCall mapping(int extent, boolean isMap) {
        return AllocatorEvents.mapping(source.info(), table.extents.size(extent) * supply.pageBytes, isMap);
    }

    /**
     * Takes over an extent that another lane has in hand: ends its mappings there, and makes it one in hand here. If
     * that fails, it is idle there. Call {@link PageTable#ensureRoom} before.
     */
    int takeOver(ExtentCalls other, int extent) {
        try {
            other.endMappings(extent);
        } catch (Throwable e) {
            other.putBack(extent);
            throw e;
        }
        final int size = other.table.extents.size(extent);
        final long number = other.remove(extent, size);
        lane.lock.lock();
        try {
            lane.counters.extended(size * supply.pageBytes);
            final int taken = table.extents.add(number, size);
            peakPages = Math.max(peakPages, table.pages());
            return taken;
        } finally {
            lane.lock.unlock();
        }
    }

    /** Releases an extent in hand, for another lane. If that fails, it is idle. */
    void releaseSpare(int extent) {
        try {
            release(extent);
        } catch (Throwable e) {
            putBack(extent);
            throw e;
        }
    }

    private void putBack(int extent) {
        lane.lock.lock();
        try {
            table.extents.putBack(extent);
        } finally {
            lane.lock.unlock();
        }
    }

    /** Removes an extent in hand that another lane takes over; returns its number in the source. */
    private long remove(int extent, int size) {
        lane.lock.lock();
        try {
            final long number = table.extents.number(extent);
            table.extents.remove(extent);
            lane.counters.detached();
            lane.counters.returned(size * supply.pageBytes);
            return number;
        } finally {
            lane.lock.unlock();
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
                source.info(), DevicePart.PAGES, table.extents.size(extent) * supply.pageBytes);
        final long begin = System.nanoTime();
        boolean isReleased = false;
        try {
            source.release(table.extents.number(extent));
            isReleased = true;
        } finally {
            call.end(isReleased, 0);
        }
        final long took = System.nanoTime() - begin;
        lane.lock.lock();
        try {
            final long byteSize = table.extents.size(extent) * supply.pageBytes;
            table.extents.remove(extent);
            lane.counters.detached();
            lane.counters.shrunk(byteSize);
            nanos += took;
        } finally {
            lane.lock.unlock();
        }
    }

    /** Begins to end a mapping of an extent in hand; returns {@link #NONE} if it has none. */
    private int beginUnmap(int extent) {
        lane.lock.lock();
        try {
            final int mapping = table.extents.mappings(extent);
            if (mapping != NONE) {
                table.beginUnmap(mapping);
            }
            return mapping;
        } finally {
            lane.lock.unlock();
        }
    }

    /** Returns the counters. Under the lane's lock. */
    List<AllocatorStats.Counter> statistics(MoveCap cap) {
        final long pageBytes = supply.pageBytes;
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
