package allocator.arena;

import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Decides which lane serves an asker: a stream, or the threads that ask for no stream in particular, told apart by their
 * ids as far as {@value #STRIPES} stripes go.
 *
 * <p>All start in the main lane. Who meets others at work there {@value #MEETINGS} times within a second moves out: to a
 * lane that nobody has, to a new one, or, if there are as many as there may be, to one that others have as well.
 */
final class LaneChoice {
    /** Few enough to be over at once under real contention, and more than a coincidence. */
    private static final int MEETINGS = 16;

    private static final long WINDOW_NANOS = 1_000_000_000;

    /** A power of two. */
    private static final int STRIPES = 64;

    private final Lanes lanes;
    private final int maxLanes;

    /** By asker. Guarded by this, as is all that changes; finding takes no lock. */
    private final Map<Long, Meetings> meetings = new HashMap<>();

    private volatile LaneTable table = LaneTable.EMPTY;

    /** Counts the askers that had to share. */
    private int shared;

    private boolean isClosed;

    private static final class Meetings {
        private int count;
        private long since;
    }

    LaneChoice(Lanes lanes, int maxLanes) {
        this.lanes = lanes;
        this.maxLanes = maxLanes == 0 ? Runtime.getRuntime().availableProcessors() + 1 : maxLanes;
    }

    /** The number of a stream as an asker: above zero. */
    static long asker(SyncStream stream) {
        return stream.id();
    }

    /** The number of the calling thread as an asker: below zero. */
    static long asker() {
        return ~(Thread.currentThread().threadId() & (STRIPES - 1));
    }

    /** The lane for an asker. */
    Lane laneFor(long asker) {
        final Lane lane = table.find(asker, lanes.main);
        return lane == lanes.main && maxLanes > 1 && lane.isBusyWithOther(asker) ? meet(asker) : lane;
    }

    private synchronized Lane meet(long asker) {
        final Meetings met = meetings.computeIfAbsent(asker, key -> new Meetings());
        final long now = System.nanoTime();
        if (met.count == 0 || now - met.since > WINDOW_NANOS) {
            met.count = 0;
            met.since = now;
        }
        return ++met.count < MEETINGS ? lanes.main : moveOut(asker);
    }

    /** Gives an asker another lane than the main one, if it has none. */
    synchronized Lane moveOut(long asker) {
        meetings.remove(asker);
        final Lane present = table.find(asker, lanes.main);
        if (present != lanes.main || maxLanes == 1 || isClosed) {
            return present;
        }
        final Lane lane = vacantLane();
        table = table.with(asker, lane);
        return lane;
    }

    private Lane vacantLane() {
        final List<Lane> others = lanes.all().subList(1, lanes.count());
        for (final Lane lane : others) {
            if (!table.uses(lane)) {
                return lane;
            }
        }
        return lanes.count() < maxLanes ? lanes.add() : others.get(Math.floorMod(shared++, others.size()));
    }

    /** Lets the lane of a stream that asks no more go to others. */
    synchronized void forget(long asker) {
        meetings.remove(asker);
        table = table.without(asker);
    }

    /** Makes no more lanes from here on. */
    synchronized void close() {
        isClosed = true;
    }
}
