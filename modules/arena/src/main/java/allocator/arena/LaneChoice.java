package allocator.arena;

import allocator.spi.SyncStream;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Decides which lane serves a requester: a stream, or the threads that allocate without a stream, distinguished by
 * their ids in {@value #STRIPES} stripes.
 *
 * <p>All requesters start in the main lane. One that contends with another for its lock {@value #CONTENTIONS} times
 * within a second gets another lane: one without requesters, or a new one, or, if there are as many as allowed, one
 * that it shares.
 *
 * <p>On pages a stream changes lanes between two runs, as what it frees in a run is of use to other lanes only after
 * it: at the end of the run in which it has contended, or if none ends for a second, at its next contentions.
 */
final class LaneChoice {
    /** Low enough to be reached at once under real contention, and too high for a coincidence. */
    static final int CONTENTIONS = 16;

    static final long WINDOW_NANOS = 1_000_000_000;

    /** A power of two. */
    private static final int STRIPES = 64;

    private final Lanes lanes;
    private final Lane main;
    private final int maxLanes;
    private final LongSupplier clock;
    private final boolean isOnPages;

    /** Guarded by this, as is everything that changes; finding a lane takes no lock. */
    private final LaneTable table;

    /** Whether a requester has ever had another lane than the main one: most arenas need no look at the table. */
    private volatile boolean hasOthers;

    /** Whether a stream is to change lanes when its run ends. */
    private volatile boolean hasLeaving;

    /** Counts the requesters that had to share a lane. */
    private int shared;

    private boolean isClosed;

    /**
     * @param lanes the lanes
     * @param maxLanes the most lanes, the main lane included; 0 for one more than there are processors
     * @param clock nanoseconds from any origin
     */
    LaneChoice(Lanes lanes, int maxLanes, LongSupplier clock) {
        this.lanes = lanes;
        main = lanes.main;
        this.clock = clock;
        isOnPages = lanes.pages != null;
        table = new LaneTable(main);
        this.maxLanes = maxLanes == 0 ? Runtime.getRuntime().availableProcessors() + 1 : maxLanes;
    }

    /** Returns the number of a stream as a requester: above zero. */
    static long requester(SyncStream stream) {
        return stream.id();
    }

    /** Returns the number of the calling thread as a requester: below zero. */
    static long requester() {
        return ~(Thread.currentThread().threadId() & (STRIPES - 1));
    }

    /** Returns the lane of a requester. */
    Lane laneFor(long requester) {
        return hasOthers ? table.find(requester) : main;
    }

    /** Records that a requester waited for a lane that another one had used last. */
    void contended(Lane lane, long requester) {
        if (lane == main && maxLanes > 1) {
            contendedForMainLane(requester);
        }
    }

    private synchronized void contendedForMainLane(long requester) {
        final LaneTable.Entry entry = table.entry(requester);
        final long now = clock.getAsLong();
        if (entry.contentions == 0 || now - entry.since > WINDOW_NANOS) {
            entry.contentions = 0;
            entry.since = now;
        }
        if (++entry.contentions == CONTENTIONS) {
            entry.contentions = 0;
            if (isOnPages && requester > 0 && !table.isLeaving(entry)) {
                table.leave(entry, now);
                hasLeaving = true;
            } else if (!table.isLeaving(entry) || now - entry.leavingSince > WINDOW_NANOS) {
                leaveMainLane(requester);
            }
        }
    }

    /** Assigns a stream another lane, if it has contended in the run that has ended. */
    void runEnded(long requester) {
        if (hasLeaving) {
            try {
                synchronized (this) {
                    if (table.isLeaving(requester)) {
                        leaveMainLane(requester);
                    }
                }
            } catch (VirtualMachineError e) {
                // It leaves after another run.
            }
        }
    }

    /** Returns the number of slots of the table, for tests. */
    synchronized int slots() {
        return table.slots();
    }

    /** Assigns a requester of the main lane another lane. */
    synchronized void leaveMainLane(long requester) {
        final LaneTable.Entry entry = table.entry(requester);
        entry.contentions = 0;
        if (entry.lane == main && maxLanes > 1 && !isClosed) {
            final Lane vacant = vacantLane();
            hasOthers = true;
            table.move(entry, vacant);
            table.stayAll(); // whether they contend without it remains to be seen
            hasLeaving = false;
        }
    }

    private Lane vacantLane() {
        final List<Lane> others = lanes.all().subList(1, lanes.count());
        for (final Lane lane : others) {
            if (lane.requesters == 0) {
                return lane;
            }
        }
        return lanes.count() < maxLanes ? lanes.add() : others.get(Math.floorMod(shared++, others.size()));
    }

    /** Makes the lane of a released stream available to others. Needs no Java heap. */
    synchronized void forget(long requester) {
        table.remove(requester);
    }

    /**
     * Runs work during which no lane is added, and prevents further lanes.
     *
     * @param work closes the lanes; if it fails, further lanes are possible as before
     */
    synchronized void close(Runnable work) {
        work.run();
        isClosed = true;
    }
}
