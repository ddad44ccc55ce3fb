package allocator.arena;

import allocator.spi.SyncStream;

/** What a simulated program does to an arena that takes more contention than a short program has. */
public final class LaneAccess {
    private LaneAccess() {}

    /**
     * Gives a stream a lane other than the main one, as contention would.
     *
     * @param arena the arena
     * @param stream the stream; nothing happens if it has such a lane, or there is but one
     */
    public static void leaveMainLane(BfcArena arena, SyncStream stream) {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
    }
}
