package allocator.arena;

import allocator.arena.compact.PageTable;
import java.util.List;

/**
 * Takes idle extents over from other lanes of the arena, instead of creating more: from lanes that hold more than they
 * have needed in the last seconds and twice their slack. Each lane keeps what it needs again and again, so that lanes
 * do not take extents from one another in turn. For a lane that is new, what the others have in use is all that they
 * need: until it was added, one of them served its requesters too.
 *
 * <p>Under the device lock, so that no other lane takes or makes extents meanwhile. The lock of one lane is held at a
 * time.
 */
final class Takeover {
    private static final int NONE = PageTable.NONE;

    /** What a lane needs is the most in use in two periods of at least this length; a lane is new for one. */
    private static final long PERIOD_NANOS = 1_000_000_000;

    /** A lane in which a run has ended is new until so many have: the first one may have begun elsewhere. */
    private static final int RUNS_WHILE_NEW = 2;

    private final PageSupply supply;
    private final Lane lane;
    private final PageTable table;
    private final ExtentCalls calls;
    private final ExtentChoice choice;

    /** When this lane's period began. */
    private long since = System.nanoTime();

    private boolean hasTaken;

    /** Whether there were other lanes when this one first lacked an extent. */
    private boolean isAdded;

    /** When this lane first lacked an extent. */
    private long added;

    /** The pages that other lanes have released for this one, and that it has not created yet. */
    private long released;

    Takeover(PageSupply supply, ExtentCalls calls, ExtentChoice choice) {
        this.supply = supply;
        lane = supply.lane;
        table = supply.table;
        this.calls = calls;
        this.choice = choice;
    }

    /**
     * Takes an extent in hand that another lane has to spare. If all of those are too large, it releases one, so that
     * as many pages can be created. Returns the extent, {@link #NONE} if one is to be created.
     *
     * @param wanted how many pages are lacking
     * @param most the most pages of an extent that can be mapped
     */
    int take(int wanted, int most) {
        final List<PageSupply> others = supply.others();
        final long now = System.nanoTime();
        final boolean isNew = isNew(!others.isEmpty(), now);
        for (int i = 0; i < others.size(); i++) {
            final PageGrowth other = others.get(i).growth;
            final int extent = other.takeover.offer(wanted, released < wanted ? Integer.MAX_VALUE : most, now, isNew);
            if (extent != NONE) {
                final int size = others.get(i).table.extents.size(extent);
                if (size <= most) {
                    return calls.takeOver(other.calls, extent);
                }
                other.calls.releaseSpare(extent);
                released += size;
            }
        }
        released = Math.max(0, released - wanted);
        return NONE;
    }

    private boolean isNew(boolean hasOthers, long now) {
        if (!hasTaken) {
            hasTaken = true;
            isAdded = hasOthers;
            added = now;
        }
        if (!isAdded) {
            return false;
        }
        final long runs = lane.locked(table.streams::runs);
        return now - added < PERIOD_NANOS || (runs > 0 && runs < RUNS_WHILE_NEW);
    }

    /**
     * Takes an extent of this lane in hand for another lane; returns {@link #NONE} if there is none to spare. Makes no
     * object once it is taken: it would stay in hand where the Java heap ends.
     */
    private int offer(int wanted, int most, long now, boolean isForNew) {
        return (int) lane.lockedLong(() -> {
            if (isForNew || now - since >= PERIOD_NANOS) {
                since = now;
                lane.counters.endPeriod();
            }
            if (isForNew) {
                lane.counters.endPeriod();
            }
            final long spare = choice.spare(lane.counters.peakInChunks(0));
            final int extent = spare > 0 ? table.idleExtents.releasable(wanted, Math.min(spare, most)) : NONE;
            if (extent != NONE) {
                table.extents.take(extent);
            }
            return extent;
        });
    }
}
