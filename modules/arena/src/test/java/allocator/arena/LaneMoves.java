package allocator.arena;

import allocator.spi.SyncStream;

/** Gives requesters lanes of their own, as contention does. */
public final class LaneMoves {
    private LaneMoves() {}

    /** Assigns a stream another lane than the main one. */
    public static void leaveMainLane(BfcArena arena, SyncStream stream) {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
    }

    /** Assigns the calling thread another lane than the main one, for what it allocates without a stream. */
    public static void leaveMainLane(BfcArena arena) {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester());
    }
}
