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

/** Releases extents: idle ones at a shrink, all of them at the close. */
final class PageReturns {
    private final CompactArena arena;
    private final PageTable table;
    private final ExtentCalls calls;

    PageReturns(CompactArena arena) {
        this.arena = arena;
        table = arena.table;
        calls = arena.growth.calls();
    }

    /** Releases the idle extents; none if it is called from within a call by the arena to its device or to a stream. */
    ShrinkReport shrink() {
        StackReserve.touch();
        if (arena.isInDevice()) {
            return arena.locked(() -> report(new Released(0, 0)));
        }
        arena.shrinkLock.lock();
        try {
            awaitOwners();
            arena.deviceLock.lock();
            try {
                arena.locked(() -> {
                    arena.growth.abandonLeft();
                    table.idleExtents.takeReleasable();
                    return true;
                });
                final Failures failures = new Failures();
                final Released released = release(failures);
                arena.locked(() -> {
                    table.extents.putBackAll();
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
            table.addOwners(owners);
            return table.streams.frees();
        });
        boolean areDone = !owners.isEmpty();
        for (final SyncStream owner : owners.values()) {
            areDone &= StreamWork.await(owner);
        }
        if (areDone) {
            arena.locked(() -> {
                table.streams.finishUpTo(free);
                return true;
            });
        }
        return areDone;
    }

    /** What was released. */
    private record Released(int extents, int pages) {}

    /** Ends the mappings that are of no use, and releases the extents in hand. Under the device lock. */
    private Released release(Failures failures) {
        final int extents = table.extents.count();
        final int pages = table.pages();
        for (int mapping = beginUnmap(0); mapping != PageTable.NONE; mapping = beginUnmap(mapping + 1)) {
            final int each = mapping;
            failures.run(() -> calls.unmap(each));
        }
        for (int extent = table.extents.capacity() - 1; extent >= 0; extent--) {
            if (table.extents.isInHand(extent)) {
                final int each = extent;
                failures.run(() -> calls.release(each));
            }
        }
        return new Released(extents - table.extents.count(), pages - table.pages());
    }

    private int beginUnmap(int from) {
        arena.lock.lock();
        try {
            return table.beginUnmapUseless(from);
        } finally {
            arena.lock.unlock();
        }
    }

    private ShrinkReport report(Released released) {
        final long pageBytes = arena.pageBytes;
        final long idle = table.idle() * pageBytes;
        final long inUse = table.pages() * pageBytes - idle;
        final int idleExtents = table.extents.idleCount();
        final int usedExtents = table.extents.count() - idleExtents;
        return new ShrinkReport(
                released.pages() * pageBytes,
                released.extents(),
                table.pages() * pageBytes,
                usedExtents,
                idleExtents,
                Stream.of(
                                new ShrinkReport.Held(inUse, usedExtents, "pages with live blocks"),
                                new ShrinkReport.Held(
                                        idle,
                                        idleExtents,
                                        "pages that were used during the shrink, or that a stream may still use"))
                        .filter(part -> part.bytes() > 0)
                        .toList());
    }

    /** Closes the arena, unless it is closed, and releases all extents. */
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
                table.extents.takeAll();
                release(failures);
                if (arena.region != null && table.mappings.mappedPlaces() == 0) {
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
