package allocator.arena.compact;

import allocator.arena.chunk.Region;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.Failures;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.Map;

/** Releases pages: idle ones at a shrink, all of them at the close. */
final class PageReturns {
    private final LanePages arena;
    private final PageTable table;

    PageReturns(LanePages arena) {
        this.arena = arena;
        table = arena.table;
    }

    /** Releases the idle pages that no stream may still use. Under the device lock. */
    int releaseIdle(Failures failures) {
        arena.locked(table::leave);
        final int released = release(failures);
        arena.locked(() -> {
            for (int page = 0; page < table.pageCapacity(); page++) {
                table.stay(page);
            }
            return true;
        });
        return released;
    }

    /**
     * Waits for the streams that may still use free memory, and forgets what they freed before.
     *
     * @return whether there are any, and all their work is done
     */
    boolean awaitOwners() {
        final Map<Long, SyncStream> owners = new LinkedHashMap<>();
        final long free = arena.locked(() -> {
            if (!table.addOwners(owners) && arena.region != null) {
                arena.placement.addOwners(arena.region, owners);
            }
            return table.frees();
        });
        boolean areDone = !owners.isEmpty();
        for (final SyncStream owner : owners.values()) {
            areDone &= StreamWork.await(owner);
        }
        if (areDone) {
            arena.locked(() -> {
                table.unbindUpTo(free);
                return true;
            });
        }
        return areDone;
    }

    /** Ends the mappings that are of no use, and releases the pages that leave. Under the device lock. */
    private int release(Failures failures) {
        for (int place = 0; place < table.placeCount(); place++) {
            final int each = place;
            failures.run(() -> unmap(each));
        }
        int released = 0;
        for (int page = table.pageCapacity() - 1; page >= 0; page--) {
            if (table.isReadyToLeave(page)) {
                final int each = page;
                final int before = table.pages();
                failures.run(() -> release(each));
                released += before - table.pages();
            }
        }
        return released;
    }

    private void unmap(int place) {
        arena.lock.lock();
        final boolean isLeaving;
        try {
            isLeaving = table.isMappingLeaving(place);
            if (isLeaving) {
                table.beginUnmap(place);
            }
        } finally {
            arena.lock.unlock();
        }
        if (isLeaving) {
            arena.growth.unmap(place);
        }
    }

    private void release(int page) {
        arena.source.release(table.number(page));
        arena.lock.lock();
        try {
            table.remove(page);
            arena.counters.detached();
            arena.counters.shrunk(arena.pageBytes);
        } finally {
            arena.lock.unlock();
        }
    }

    /** Releases all pages, which leave, and then the range. Under the device lock. */
    void giveBack(Failures failures) {
        release(failures);
        final Region range = arena.region;
        if (range != null && table.mapped() == 0) {
            failures.run(() -> {
                arena.source.unreserve(range.base(), range.byteSize());
                arena.lane.leaving(range.base());
                arena.region = null;
            });
        }
    }
}
