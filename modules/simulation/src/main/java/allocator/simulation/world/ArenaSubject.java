package allocator.simulation.world;

import allocator.arena.BfcArena;
import allocator.arena.LaneAccess;
import allocator.arena.StreamArenaAllocator;
import allocator.arena.bump.BumpAllocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.function.Consumer;

/**
 * What is called of an arena.
 *
 * @param memory serves requests
 * @param arena the arena beneath, which can be checked; {@code null} for a bump allocator
 * @param endRun unbinds what a stream has freed
 * @param releaseStream unbinds all memory of a stream
 * @param shrink returns unused memory
 * @param close ends the arena
 */
record ArenaSubject(
        StreamAwareAllocator memory,
        BfcArena arena,
        Consumer<SyncStream> endRun,
        Consumer<SyncStream> releaseStream,
        Runnable shrink,
        Runnable close) {
    static ArenaSubject of(BfcArena arena) {
        return new ArenaSubject(
                new StreamArenaAllocator(arena, AllocatorOptions.EMPTY),
                arena,
                arena::endRun,
                arena::releaseStream,
                arena::shrink,
                arena::close);
    }

    static ArenaSubject of(BumpAllocator bump) {
        return new ArenaSubject(bump, null, bump::endRun, bump::releaseStream, bump::shrink, bump::close);
    }

    AllocatorStats stats() {
        return memory.stats();
    }

    void leaveMainLane(SyncStream stream) {
        if (arena != null) {
            LaneAccess.leaveMainLane(arena, stream);
        }
    }

    void verify() {
        if (arena != null) {
            arena.checkConsistency();
        }
    }

    /** Returns whether a close that failed has closed all or nothing. */
    boolean isWhollyOpenOrClosed() {
        return arena == null || LaneAccess.isWhollyOpenOrClosed(arena);
    }
}
