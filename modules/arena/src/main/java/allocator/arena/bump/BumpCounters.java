package allocator.arena.bump;

/**
 * The counters of a {@link BumpAllocator}'s blocks. They are fields, as a block and its counters change in one step,
 * which no call divides: a call may fail where the thread's stack ends.
 */
final class BumpCounters {
    /** Bytes of all live blocks. */
    long bytesInUse;

    /** Highest value of {@link #bytesInUse}. */
    long peakBytesInUse;

    /** Size of the largest block. */
    long maxAllocSize;

    /** Allocations and reserves handed out. */
    long numAllocs;

    /** Reserves handed out. */
    long numReserves;

    /** Requests for which there was no memory. */
    long numFailedAllocs;
}
