package allocator.arena.compact;

import allocator.arena.chunk.Placement;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.Failures;
import allocator.provider.support.StackReserve;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Releases pages: idle ones at a shrink, all of them at the close. */
final class PageReturns {
    private final CompactArena arena;
    private final PageTable table;

    PageReturns(CompactArena arena) {
        this.arena = arena;
        table = arena.table;
    }

    /** Releases the idle pages; none if it is called from within a call by the arena to its device or to a stream. */
    ShrinkReport shrink() {
        StackReserve.touch();
        if (arena.isInDevice()) {
            return arena.locked(() -> report(0));
        }
        arena.shrinkLock.lock();
        try {
            awaitOwners();
            arena.deviceLock.lock();
            try {
                arena.locked(table::leave);
                final Failures failures = new Failures();
                final int released = release(failures);
                arena.locked(() -> {
                    for (int page = 0; page < table.pageCapacity(); page++) {
                        table.stay(page);
                    }
                    assert arena.passesSampledCheck();
                    return true;
                });
                failures.throwIfAny();
                return arena.locked(() -> report(released));
            } finally {
                arena.deviceLock.unlock();
            }
        } finally {
            arena.shrinkLock.unlock();
        }
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

    private ShrinkReport report(int released) {
        final long pageBytes = arena.pageBytes;
        final int idle = table.idle();
        final int inUse = table.pages() - idle;
        return new ShrinkReport(
                released * pageBytes,
                released,
                table.pages() * pageBytes,
                inUse,
                idle,
                Stream.of(
                                new ShrinkReport.Held(inUse * pageBytes, inUse, "pages with live blocks"),
                                new ShrinkReport.Held(
                                        idle * pageBytes,
                                        idle,
                                        "pages that were used during the shrink, or that a stream may still use"))
                        .filter(part -> part.bytes() > 0)
                        .toList());
    }

    /** Closes the arena, unless it is closed, and releases all pages. */
    void close() {
        StackReserve.touch();
        arena.requireOutsideDevice();
        arena.shrinkLock.lock();
        try {
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            arena.lock.lock();
            try {
                if (!arena.isClosed()) {
                    arena.begin();
                    table.addOwners(owners);
                    if (arena.region != null) {
                        arena.placement.addOwners(arena.region, owners);
                    }
                    arena.placement.step = Placement.CLOSED;
                }
            } finally {
                arena.lock.unlock();
            }
            final Failures failures = new Failures();
            for (final SyncStream owner : List.copyOf(owners.values())) {
                failures.run(() -> StreamWork.await(owner));
            }
            arena.deviceLock.lock();
            try {
                table.leaveAll();
                release(failures);
                if (arena.region != null && table.mapped() == 0) {
                    final long base = arena.region.base();
                    failures.run(() -> {
                        arena.source.unreserve(base, arena.config.addressBytes());
                        arena.region = null;
                    });
                }
            } finally {
                arena.deviceLock.unlock();
            }
            failures.throwIfAny();
        } finally {
            arena.shrinkLock.unlock();
        }
    }
}
