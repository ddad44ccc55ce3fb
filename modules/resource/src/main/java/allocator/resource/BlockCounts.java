package allocator.resource;

import allocator.spi.AllocatorStats;

/** The counters of blocks that no allocator below counts. Guarded by its user. */
final class BlockCounts {
    /** Requests that failed for lack of memory. */
    long failed;

    /** Bytes of dead blocks whose memory is not returned. */
    long unreturned;

    private long inUse;
    private long peakInUse;
    private long peakHeld;
    private long maxAllocSize;
    private long allocs;
    private long reserves;

    void allocated(long byteSize, boolean isReserve) {
        inUse += byteSize;
        peakInUse = inUse > peakInUse ? inUse : peakInUse;
        peakHeld = inUse + unreturned > peakHeld ? inUse + unreturned : peakHeld;
        maxAllocSize = byteSize > maxAllocSize ? byteSize : maxAllocSize;
        allocs++;
        reserves += isReserve ? 1 : 0;
    }

    void freed(long byteSize) {
        inUse -= byteSize;
    }

    /** Counts a block again, whose deallocation was rejected. */
    void restored(long byteSize) {
        inUse += byteSize;
    }

    AllocatorStats toStats() {
        return new AllocatorStats.Builder()
                .inUse(inUse, inUse, peakInUse)
                .held(inUse + unreturned, peakHeld)
                .free(unreturned, 0)
                .calls(allocs, reserves, failed, maxAllocSize)
                .build();
    }
}
