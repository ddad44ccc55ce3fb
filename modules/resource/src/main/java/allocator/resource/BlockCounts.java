package allocator.resource;

import allocator.spi.AllocatorStats;

/**
 * The counters of blocks that no allocator below counts. Guarded by its user.
 *
 * <p>A block is in use, leaving or unreturned, and held in all three: its memory counts as held until the resource has
 * it. What leaves may be in use again if the resource rejects it, so a peak is raised with every rise.
 */
final class BlockCounts {
    /** Requests that failed for lack of memory. */
    long failed;

    /** Changes of {@link #unreturned} so far. */
    private long unreturnedChanges;

    /** Bytes of dead blocks that the resource has not taken back, and that no call is returning to it. */
    private long unreturned;

    /** Bytes of blocks on their way back to the resource. */
    private long leaving;

    private long inUse;
    private long peakInUse;
    private long peakHeld;
    private long maxAllocSize;
    private long allocs;
    private long reserves;

    void allocated(long byteSize, boolean isReserve) {
        inUse += byteSize;
        peakInUse = inUse > peakInUse ? inUse : peakInUse;
        final long held = inUse + leaving + unreturned;
        peakHeld = held > peakHeld ? held : peakHeld;
        maxAllocSize = byteSize > maxAllocSize ? byteSize : maxAllocSize;
        allocs++;
        reserves += isReserve ? 1 : 0;
    }

    /** Counts memory that goes back at once, since its allocation has come too late. */
    void arrivedDead(long byteSize) {
        leaving += byteSize;
        final long held = inUse + leaving + unreturned;
        peakHeld = held > peakHeld ? held : peakHeld;
    }

    /** Counts a block in use as leaving. */
    void leaving(long byteSize) {
        inUse -= byteSize;
        leaving += byteSize;
    }

    /** Counts an unreturned block as leaving. */
    void leavingAgain(long byteSize) {
        unreturned -= byteSize;
        leaving += byteSize;
        unreturnedChanges++;
    }

    /** Counts a block that was leaving, which the resource has taken. */
    void returned(long byteSize) {
        leaving -= byteSize;
    }

    /** Counts a block that was leaving as in use again: the resource has rejected it. */
    void restored(long byteSize) {
        leaving -= byteSize;
        inUse += byteSize;
        peakInUse = inUse > peakInUse ? inUse : peakInUse;
    }

    /** Counts a block that was leaving as dead and unreturned. */
    void notReturned(long byteSize) {
        leaving -= byteSize;
        unreturned += byteSize;
        unreturnedChanges++;
    }

    /** Counts unreturned blocks as returned: the resource has handed their memory out again. */
    void forgotten(long byteSize) {
        unreturned -= byteSize;
        unreturnedChanges++;
    }

    long unreturned() {
        return unreturned;
    }

    long unreturnedChanges() {
        return unreturnedChanges;
    }

    AllocatorStats toStats() {
        return new AllocatorStats.Builder()
                .inUse(inUse, inUse, peakInUse)
                .held(inUse + leaving + unreturned, peakHeld)
                .free(leaving + unreturned, 0)
                .calls(allocs, reserves, failed, maxAllocSize)
                .build();
    }
}
