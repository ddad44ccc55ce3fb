package allocator.resource.base;

import allocator.spi.AllocatorStats;

/**
 * The counters of blocks that no allocator below counts. Guarded by its user.
 *
 * <p>A block is in use, leaving or unreturned, and held in all three: its memory counts as held until the resource has
 * it. What leaves may be in use again if the resource rejects it, so a peak is raised with every rise.
 */
public final class BlockCounts {
    /** Requests that failed for lack of memory. */
    public long failed;

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

    /** Counts nothing yet. */
    public BlockCounts() {}

    /** Counts a new block in use. */
    public void allocated(long byteSize, boolean isReserve) {
        inUse += byteSize;
        peakInUse = inUse > peakInUse ? inUse : peakInUse;
        final long held = inUse + leaving + unreturned;
        peakHeld = held > peakHeld ? held : peakHeld;
        maxAllocSize = byteSize > maxAllocSize ? byteSize : maxAllocSize;
        allocs++;
        reserves += isReserve ? 1 : 0;
    }

    /** Counts memory that goes back at once, since its allocation has come too late. */
    public void arrivedDead(long byteSize) {
        leaving += byteSize;
        final long held = inUse + leaving + unreturned;
        peakHeld = held > peakHeld ? held : peakHeld;
    }

    /** Counts a block in use as leaving. */
    public void leaving(long byteSize) {
        inUse -= byteSize;
        leaving += byteSize;
    }

    /** Counts an unreturned block as leaving. */
    public void leavingAgain(long byteSize) {
        unreturned -= byteSize;
        leaving += byteSize;
        unreturnedChanges++;
    }

    /** Counts a block that was leaving, which the resource has taken. */
    public void returned(long byteSize) {
        leaving -= byteSize;
    }

    /** Counts a block that was leaving as in use again: the resource has rejected it. */
    public void restored(long byteSize) {
        leaving -= byteSize;
        inUse += byteSize;
        peakInUse = inUse > peakInUse ? inUse : peakInUse;
    }

    /** Counts a block that was leaving as dead and unreturned. */
    public void notReturned(long byteSize) {
        leaving -= byteSize;
        unreturned += byteSize;
        unreturnedChanges++;
    }

    /** Counts unreturned blocks as returned: the resource has handed their memory out again. */
    public void forgotten(long byteSize) {
        unreturned -= byteSize;
        unreturnedChanges++;
    }

    /** Returns the bytes of dead blocks that no call is returning. */
    public long unreturned() {
        return unreturned;
    }

    /** Returns how often {@link #unreturned} has changed so far. */
    public long unreturnedChanges() {
        return unreturnedChanges;
    }

    /** Returns the counters. */
    public AllocatorStats toStats() {
        return new AllocatorStats.Builder()
                .inUse(inUse, inUse, peakInUse)
                .held(inUse + leaving + unreturned, peakHeld)
                .free(leaving + unreturned, 0)
                .calls(allocs, reserves, failed, maxAllocSize)
                .build();
    }
}
