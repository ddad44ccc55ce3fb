package allocator.arena.upstream;

import allocator.spi.AllocatorStats;

/**
 * The counters of a lane, with ONNX Runtime's meaning.
 *
 * <pre>
 *   held = bytes of regions + reserves + unreturned memory        in use = sizes of chunks in use + reserves
 * </pre>
 */
public final class Counters {
    /** Counts what all lanes hold. */
    private final HeldLimit heldLimit;

    private long inUse;
    private long requested;
    private long held;
    private long peakInUse;
    private long peakHeld;
    private long maxAllocSize;
    private long allocs;
    private long reserves;
    private long failed;
    private long extensions;
    private long shrinkages;

    /** Creates counters at zero. */
    public Counters(HeldLimit heldLimit) {
        this.heldLimit = heldLimit;
    }

    /** Returns the bytes in use. */
    public long inUse() {
        return inUse;
    }

    /** Returns the bytes that the callers of all live allocations requested. */
    public long requested() {
        return requested;
    }

    /** Returns the bytes held. */
    public long held() {
        return held;
    }

    /** Counts an allocation. */
    public void allocated(long byteSize, long requestedSize) {
        inUse += byteSize;
        requested += requestedSize;
        peakInUse = Math.max(peakInUse, inUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
        allocs++;
    }

    /** Counts a free. */
    public void freed(long byteSize, long requestedSize) {
        inUse -= byteSize;
        requested -= requestedSize;
    }

    /** Counts a reserve. */
    public void reserved(long byteSize) {
        hold(byteSize);
        allocated(byteSize, byteSize);
        reserves++;
    }

    /** Counts a new region. */
    public void extended(long byteSize) {
        hold(byteSize);
        extensions++;
    }

    private void hold(long byteSize) {
        held += byteSize;
        heldLimit.take(byteSize);
        peakHeld = Math.max(peakHeld, held);
    }

    /** Counts a region that is detached, to be returned. */
    public void detached() {
        extensions--;
    }

    /** Counts a detached region that was returned. */
    public void shrunk(long byteSize) {
        returned(byteSize);
        shrinkages++;
    }

    /** Counts memory that was returned. */
    public void returned(long byteSize) {
        held -= byteSize;
        heldLimit.giveBack(byteSize);
    }

    /** Counts a failed request. */
    public void failed() {
        failed++;
    }

    /** Returns the counters as statistics. */
    public AllocatorStats toStats(long limit, long largestFreeChunk) {
        return new AllocatorStats.Builder()
                .limit(limit)
                .inUse(inUse, requested, peakInUse)
                .held(held, peakHeld)
                .free(held - inUse, largestFreeChunk)
                .calls(allocs, reserves, failed, maxAllocSize)
                .regions(extensions, shrinkages)
                .build();
    }
}
