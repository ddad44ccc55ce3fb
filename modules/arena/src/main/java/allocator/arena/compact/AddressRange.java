package allocator.arena.compact;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.provider.support.Failures;
import allocator.spi.OutOfMemoryException;

/** The range of addresses of a lane, from its reservation on: what failed after that is done at the next call. */
final class AddressRange {
    /** How many times as long as the memory of the device it is. */
    private static final int FACTOR = 2;

    /** The least length, in pages. */
    private static final int LEAST_PAGES = 4096;

    /** The most places: more make no table. */
    private static final int MOST_PLACES = Integer.MAX_VALUE / 2;

    private final LanePages arena;

    /** The first address, 0 if nothing is reserved. Guarded by the device lock. */
    private long base;

    /** The length. Guarded by the device lock. */
    private long byteSize;

    AddressRange(LanePages arena) {
        this.arena = arena;
    }

    /** Reserves the range, unless that was done. Under the device lock. */
    Region ensure(long requested) {
        final Region known = arena.locked(() -> arena.region);
        if (known != null) {
            return known;
        }
        long rangeBytes = rangeBytes();
        while (true) {
            try {
                return reserve(rangeBytes);
            } catch (OutOfMemoryException e) {
                rangeBytes = (rangeBytes >> 1) & -arena.pageBytes;
                if (rangeBytes < requested) {
                    throw e;
                }
            }
        }
    }

    /** Returns how long the range should be: so long that free addresses are never in short supply. */
    private long rangeBytes() {
        final long most = Math.min(Region.MAX_BYTES, (long) MOST_PLACES * arena.pageBytes);
        final long wanted = Math.min(arena.source.memoryBytes(), most / FACTOR) * FACTOR;
        return Math.max(wanted & -arena.pageBytes, LEAST_PAGES * arena.pageBytes);
    }

    private Region reserve(long rangeBytes) {
        final PagedLane.Entry entry = arena.lane.roomForRange();
        if (base == 0) {
            base = arena.source.reserve(rangeBytes);
            byteSize = rangeBytes;
        }
        final long granules = Granules.floor(byteSize);
        final Region range = arena.placement.newRegion(granules);
        range.setBase(base);
        arena.locked(() -> {
            arena.placement.prepareRegion(granules);
            arena.placement.step = Placement.BEGUN;
            arena.placement.attach(range);
            arena.table.setBase(base);
            arena.region = range;
            return true;
        });
        entry.enter(base, byteSize);
        return range;
    }

    /** Gives the range back, if nothing is mapped there. Under the device lock, after the lane was closed. */
    void giveBack(Failures failures) {
        if (base != 0 && arena.table.mappings.mappedPlaces() == 0) {
            failures.run(() -> {
                arena.lane.leaving(base);
                arena.source.unreserve(base, byteSize);
                base = 0;
                arena.region = null;
            });
        }
    }
}
