package allocator.arena;

import allocator.spi.SyncStream;

/** What a simulated program does to an arena that takes more contention than a short program has. */
public final class LaneAccess {
    private LaneAccess() {}

    /** Gives a stream a lane other than the main one, as contention would, unless it has one, or there is but one. */
    public static void leaveMainLane(BfcArena arena, SyncStream stream) {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
    }

    /** Returns whether all lanes are closed, or none. */
    public static boolean isWhollyOpenOrClosed(BfcArena arena) {
        return arena.lanes.locked(
                each -> each.stream().map(Lane::isClosed).distinct().count() == 1);
    }
}
