package allocator.arena;

import allocator.spi.AllocatorStats;

/**
 * The counters of a lane, with ONNX Runtime's meaning.
 *
 * <pre>
 *   held = bytes of regions + reserves + unreturned memory        in use = sizes of chunks in use + reserves
 * </pre>
 */
final class Counters {
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

    Counters(HeldLimit heldLimit) {
        this.heldLimit = heldLimit;
    }

    long inUse() {
        return inUse;
    }

    long requested() {
        return requested;
    }

    long held() {
        return held;
    }

    void allocated(long byteSize, long requestedSize) {
        inUse += byteSize;
        requested += requestedSize;
        peakInUse = Math.max(peakInUse, inUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
        allocs++;
    }

    void freed(long byteSize, long requestedSize) {
        inUse -= byteSize;
        requested -= requestedSize;
    }

    void reserved(long byteSize) {
        hold(byteSize);
        allocated(byteSize, byteSize);
        reserves++;
    }

    void extended(long byteSize) {
        hold(byteSize);
        extensions++;
    }

    private void hold(long byteSize) {
        held += byteSize;
        heldLimit.take(byteSize);
        peakHeld = Math.max(peakHeld, held);
    }

    /** Counts a region that is detached, to be returned. */
    void detached() {
        extensions--;
    }

    /** Counts a detached region that was returned. */
    void shrunk(long byteSize) {
        returned(byteSize);
        shrinkages++;
    }

    /** Counts memory that was returned. */
    void returned(long byteSize) {
        held -= byteSize;
        heldLimit.giveBack(byteSize);
    }

    void failed() {
        failed++;
    }

    AllocatorStats toStats(long limit, long largestFreeChunk) {
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
