package allocator.arena;

import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Decides which lane serves an asker: a stream, or the threads that ask for no stream in particular, told apart by
 * their ids as far as {@value #STRIPES} stripes go.
 *
 * <p>All start in the main lane. Who has to wait there for another asker {@value #MEETINGS} times within a second moves
 * out: to a lane that nobody has, to a new one, or, if there are as many as there may be, to one that others have as
 * well.
 */
final class LaneChoice {
    /** Few enough to be over at once under real contention, and more than a coincidence. */
    static final int MEETINGS = 16;

    static final long WINDOW_NANOS = 1_000_000_000;

    /** A power of two. */
    private static final int STRIPES = 64;

    private final Lanes lanes;
    private final int maxLanes;
    private final LongSupplier clock;

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

    /**
     * @param lanes the lanes
     * @param maxLanes how many there may be, the main lane included; 0 is one more than there are processors
     * @param clock nanoseconds from any origin
     */
    LaneChoice(Lanes lanes, int maxLanes, LongSupplier clock) {
        this.lanes = lanes;
        this.clock = clock;
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
        return table.find(asker, lanes.main);
    }

    /** Notes that an asker waited at a lane for another one. */
    void met(Lane lane, long asker) {
        if (lane == lanes.main && maxLanes > 1) {
            metInMainLane(asker);
        }
    }

    private synchronized void metInMainLane(long asker) {
        final Meetings met = meetings.computeIfAbsent(asker, key -> new Meetings());
        final long now = clock.getAsLong();
        if (met.count == 0 || now - met.since > WINDOW_NANOS) {
            met.count = 0;
            met.since = now;
        }
        if (++met.count == MEETINGS) {
            moveOut(asker);
        }
    }

    /** Gives an asker another lane than the main one, if it has none. */
    synchronized void moveOut(long asker) {
        meetings.remove(asker);
        if (laneFor(asker) == lanes.main && maxLanes > 1 && !isClosed) {
            table = table.with(asker, vacantLane());
        }
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
