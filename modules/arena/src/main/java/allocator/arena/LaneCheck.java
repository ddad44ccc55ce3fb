package allocator.arena;

import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Repair;

/** Compares the structures and counters of a lane with one another. */
final class LaneCheck {
    /** The number of chunks up to which every mutation is checked, where assertions are on. */
    private static final int CHECKED_ALWAYS = 64;

    private final Lane lane;

    /** Mutations until the next check, where assertions are on. */
    private long untilCheck;

    LaneCheck(Lane lane) {
        this.lane = lane;
    }

    /** Checks everything unless the lane is closed. Takes the lane's lock. */
    void run() {
        lane.lock.lock();
        try {
            if (!lane.isClosed()) {
                lane.begin();
                requireConsistent();
            }
        } finally {
            lane.lock.unlock();
        }
    }

    private void requireConsistent() {
        final ConsistencyCheck check = ConsistencyCheck.of(lane.placement);
        final long reserved = lane.blocks.reservedBytes();
        final long inUse = lane.counters.inUse();
        final Repair.Live unfinished = lane.supply.unfinished();
        ConsistencyCheck.expect(inUse == check.inUseBytes() - unfinished.inUse() + reserved, "bytes in use", inUse);
        final long requested = lane.counters.requested();
        ConsistencyCheck.expect(
                requested == check.requestedBytes() - unfinished.requested() + reserved, "requested bytes", requested);
        final long held = lane.counters.held();
        final long supplied = lane.supply.heldBytes(check);
        ConsistencyCheck.expect(
                held == supplied + reserved + lane.blocks.leavingBytes(), "bytes held, for chunks " + supplied, held);
    }

    /**
     * Checks a small lane at every mutation, and a large one so rarely that the check costs each mutation the visit of
     * a few chunks. Under the lane's lock.
     */
    boolean passesSample() {
        if (--untilCheck < 0) {
            requireConsistent();
            final int count = lane.placement.chunkCount();
            untilCheck = count <= CHECKED_ALWAYS ? 0 : count;
        }
        return true;
    }
}
