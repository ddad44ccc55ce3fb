package allocator.arena.upstream;

import allocator.spi.AllocatorStats;
import java.util.List;

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

    /**
     * Allocations and reserves handed out. A field, as a call may fail where the stack ends, and an allocation counts
     * only if its caller learns the address.
     */
    public long allocs;

    private long inUse;
    private long requested;
    private long held;
    private long peakHeld;

    /** The most bytes in use since a reserve was last made or freed, or a period began. */
    private long peakInUse;

    /** The most bytes in use before. */
    private long earlierPeakInUse;

    /** The most bytes in use in chunks in this period, before a reserve was last made or freed. */
    private long periodPeakInChunks;

    /** The most bytes in use in chunks in the period before. */
    private long earlierPeriodPeakInChunks;

    /** The bytes of all reserves. */
    private long reservedBytes;

    private long maxAllocSize;
    private long reserves;
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

    /**
     * Returns the most bytes that have been in use in chunks in this period and the one before, as if {@code more} were
     * in use as well. The first period is all the time until {@link #endPeriod} is called.
     */
    public long peakInChunks(long more) {
        final long peakSinceReserve = Math.max(peakInUse, inUse + more) - reservedBytes;
        return Math.max(earlierPeriodPeakInChunks, Math.max(periodPeakInChunks, peakSinceReserve));
    }

    /** Begins another period. */
    public void endPeriod() {
        keepPeaks();
        earlierPeriodPeakInChunks = periodPeakInChunks;
        periodPeakInChunks = 0;
    }

    /** Counts the bytes of an allocation. */
    public void allocated(long byteSize, long requestedSize) {
        inUse += byteSize;
        requested += requestedSize;
        peakInUse = Math.max(peakInUse, inUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
    }

    /** Corrects what is in use, after an operation failed half way. */
    public void recount(long byteSize, long requestedSize) {
        inUse = byteSize;
        requested = requestedSize;
    }

    /** Counts a free. */
    public void freed(long byteSize, long requestedSize) {
        inUse -= byteSize;
        requested -= requestedSize;
    }

    /** Counts a reserve. */
    public void reserved(long byteSize) {
        beforeReserves(byteSize);
        hold(byteSize);
        allocated(byteSize, byteSize);
        allocs++;
        reserves++;
    }

    /** Counts the free of a reserve. */
    public void reserveFreed(long byteSize) {
        beforeReserves(-byteSize);
        freed(byteSize, byteSize);
        peakInUse = inUse;
    }

    /** Counts reserves that have one copy once: they save so many bytes more, or less if it is negative. */
    public void shared(long more, long moreHeld) {
        returned(moreHeld);
        reserveFreed(more);
    }

    private void beforeReserves(long more) {
        keepPeaks();
        reservedBytes += more;
    }

    /** Keeps the peaks so far, and begins with what is in use now. */
    private void keepPeaks() {
        earlierPeakInUse = Math.max(earlierPeakInUse, peakInUse);
        periodPeakInChunks = Math.max(periodPeakInChunks, peakInUse - reservedBytes);
        peakInUse = inUse;
    }

    /** Counts a new region. */
    public void extended(long byteSize) {
        hold(byteSize);
        extensions++;
    }

    /** Counts memory taken from the device. */
    public void hold(long byteSize) {
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

    /** Returns the counters as statistics; {@code failed} requests and {@code others} are counted elsewhere. */
    public AllocatorStats toStats(long limit, long largestFreeChunk, long failed, List<AllocatorStats.Counter> others) {
        return new AllocatorStats.Builder()
                .limit(limit)
                .inUse(inUse, requested, Math.max(peakInUse, earlierPeakInUse))
                .held(held, peakHeld)
                .free(held - inUse, largestFreeChunk)
                .calls(allocs, reserves, failed, maxAllocSize)
                .regions(extensions, shrinkages)
                .counters(others)
                .build();
    }
}
