package allocator.arena.compact;

import allocator.arena.upstream.StreamWork;
import allocator.provider.support.Failures;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.util.LinkedHashMap;
import java.util.Map;

/** Releases extents: idle ones at a shrink, all of them at the close. */
final class PageReturns {
    private final LanePages arena;
    private final PageTable table;
    private final ExtentCalls calls;

    PageReturns(LanePages arena) {
        this.arena = arena;
        table = arena.table;
        calls = arena.growth.calls();
    }

    /** Releases the idle extents that no stream may still use; returns how many. Under the device lock. */
    int releaseIdle(Failures failures) {
        arena.locked(() -> {
            arena.growth.abandonLeft();
            table.idleExtents.takeReleasable();
            return true;
        });
        final int released = release(failures);
        arena.locked(() -> {
            table.extents.putBackAll();
            return true;
        });
        return released;
    }

    /**
     * Releases idle extents that no stream may still use, as long as there are more pages than a number; what the
     * device fails to take back stays. Returns whether there were more. Under the device lock.
     */
    boolean releaseDownTo(long most) {
        int released = 0;
        try {
            for (int extent = takeBeyond(most); extent != PageTable.NONE; extent = takeBeyond(most)) {
                released++;
                calls.releaseSpare(extent);
            }
        } catch (DeviceException e) {
            // The next shrink tries again. That there are too few pages counts for more.
        }
        return released > 0;
    }

    private int takeBeyond(long most) {
        return (int) arena.lane.lockedLong(() -> {
            final int more = (int) (table.pages() - most);
            final int extent = more > 0 ? table.idleExtents.releasable(more, Long.MAX_VALUE) : PageTable.NONE;
            if (extent != PageTable.NONE) {
                table.extents.take(extent);
            }
            return extent;
        });
    }

    /**
     * Waits for the streams that may still use free memory, and forgets what they freed before: extents can be moved
     * then, and mappings ended. The chunks stay bound to their streams (T-03).
     *
     * @return whether there is one whose work is done
     */
    boolean awaitOwners() {
        final Map<Long, SyncStream> owners = new LinkedHashMap<>();
        final long free = arena.locked(() -> {
            table.addOwners(owners);
            return table.streams.frees();
        });
        int done = 0;
        for (final SyncStream owner : owners.values()) {
            if (StreamWork.await(owner)) {
                done++;
                arena.locked(() -> {
                    table.streams.finish(owner, free);
                    return true;
                });
            }
        }
        if (done > 0 && done == owners.size()) {
            arena.locked(() -> {
                table.streams.finishUpTo(free);
                return true;
            });
        }
        return done > 0;
    }

    /**
     * Ends the mappings that are of no use, and releases the extents in hand; returns how many. Under the device lock.
     */
    private int release(Failures failures) {
        final int extents = table.extents.count();
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
        return extents - table.extents.count();
    }

    private int beginUnmap(int from) {
        arena.lock.lock();
        try {
            return table.beginUnmapUseless(from);
        } finally {
            arena.lock.unlock();
        }
    }

    /** Releases all extents, which are in hand, and then the ranges. Under the device lock. */
    void giveBack(Failures failures) {
        release(failures);
        arena.ranges.giveBack(failures);
    }
}
