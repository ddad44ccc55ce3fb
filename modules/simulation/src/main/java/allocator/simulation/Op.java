package allocator.simulation;

import allocator.simulation.schedule.Failpoint;

/**
 * One operation of a simulated thread. Its numbers choose sizes, blocks and streams among those that there are, so that
 * it keeps a meaning when operations before it are left out.
 *
 * @param kind what is called
 * @param a chooses, from 0
 * @param b chooses, from 0
 * @param failpoint what ends during the call
 */
public record Op(Kind kind, int a, int b, Failpoint failpoint) {
    /** What an operation calls. */
    public enum Kind {
        /** Allocates without a stream. */
        ALLOC,
        /** Allocates on a stream of the thread. */
        ALLOC_ON_STREAM,
        /** Reserves. */
        RESERVE,
        /** Frees a block of any thread. */
        FREE,
        /** Lets a stream of the thread work on a block. */
        USE,
        /** Ends a run on a stream of the thread. */
        END_RUN,
        /** Closes a stream of the thread and opens another one. */
        CLOSE_STREAM,
        /** Makes a stream of the thread wait for any stream. */
        WAIT,
        /** Returns unused memory. */
        SHRINK,
        /** Reads the statistics. */
        STATS,
        /** Frees all blocks. */
        RESET,
        /** Gives a stream of the thread a lane of its own, as contention does. */
        CONTEND,
        /** Opens a session, or an allocator of the thread. */
        OPEN,
        /** Closes a session, an allocator of the thread, or the arena of all threads. */
        CLOSE,
        /** Runs a session. */
        RUN,
        /** Replaces an allocator that sessions share. */
        REPLACE
    }

    @Override
    public String toString() {
        return kind + "(" + a + ", " + b + ")" + failpoint;
    }
}
