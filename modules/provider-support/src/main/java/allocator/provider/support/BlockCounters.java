package allocator.provider.support;

import allocator.spi.AllocatorStats;

/**
 * Counts blocks in use, with the meaning of {@link AllocatorStats}. Not safe for use by several threads.
 *
 * <p>What is held is the caller's to know: a pool asks its driver, {@link BlockLedger} adds it up.
 */
public final class BlockCounters {
    private long bytesInUse;
    private long requestedBytesInUse;
    private long peakBytesInUse;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailedAllocs;

    /** Creates counters that are all zero. */
    public BlockCounters() {}

    /**
     * Counts an allocation.
     *
     * @param byteSize bytes taken, padding included
     * @param requestedSize bytes requested, at most {@code byteSize}
     * @throws IllegalArgumentException if more was requested than taken; nothing is counted
     */
    public void allocated(long byteSize, long requestedSize) {
        if (requestedSize > byteSize) {
            throw new IllegalArgumentException(
                    "requestedSize is " + requestedSize + ", it must be at most byteSize, " + byteSize);
        }
        bytesInUse += byteSize;
        requestedBytesInUse += requestedSize;
        peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
        numAllocs++;
    }

    /** Counts the last allocation as a reserve as well. */
    public void reserved() {
        numReserves++;
    }

    /**
     * Counts a free.
     *
     * @param byteSize bytes taken, padding included
     * @param requestedSize bytes requested
     */
    public void freed(long byteSize, long requestedSize) {
        bytesInUse -= byteSize;
        requestedBytesInUse -= requestedSize;
    }

    /** Counts an allocation that failed for lack of memory. */
    public void failed() {
        numFailedAllocs++;
    }

    /** {@return the bytes in use, padding included} */
    public long bytesInUse() {
        return bytesInUse;
    }

    /**
     * Begins statistics with what is counted here; the caller adds limit, bytes held and free bytes.
     *
     * @return a builder with in-use figures and calls set
     */
    public AllocatorStats.Builder toStats() {
        return new AllocatorStats.Builder()
                .inUse(bytesInUse, requestedBytesInUse, peakBytesInUse)
                .calls(numAllocs, numReserves, numFailedAllocs, maxAllocSize);
    }
}
