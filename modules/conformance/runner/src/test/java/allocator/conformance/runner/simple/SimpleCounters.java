package allocator.conformance.runner.simple;

import allocator.spi.AllocatorStats;

/** What an allocator counts of its live blocks and calls. */
final class SimpleCounters {
    private final Fault fault;
    private long inUse;
    private long requestedInUse;
    private long peakInUse;
    private long maxAlloc;
    private long allocs;
    private long reserves;
    private long failures;

    SimpleCounters(Fault fault) {
        this.fault = fault;
    }

    long inUse() {
        return inUse;
    }

    long allocs() {
        return allocs;
    }

    long failures() {
        return failures;
    }

    void allocated(SimpleChunk chunk) {
        inUse += chunk.byteSize;
        requestedInUse += fault == Fault.PADDING_COUNTED_AS_REQUESTED ? chunk.byteSize : chunk.requested;
        peakInUse = fault == Fault.PEAK_FOLLOWS_THE_MOMENT ? inUse : Math.max(peakInUse, inUse);
        maxAlloc = Math.max(maxAlloc, chunk.byteSize);
        allocs++;
    }

    void reserved() {
        reserves++;
    }

    void failed() {
        failures++;
        if (fault == Fault.FAILURES_COUNT_AS_ALLOCATIONS) {
            allocs++;
        }
    }

    void freed(SimpleChunk chunk) {
        inUse -= fault == Fault.IN_USE_DRIFTS ? Math.max(0, chunk.byteSize - SimpleChunks.GRANULE / 2) : chunk.byteSize;
        requestedInUse -= fault == Fault.PADDING_COUNTED_AS_REQUESTED ? chunk.byteSize : chunk.requested;
    }

    void addTo(AllocatorStats.Builder builder, long foreignAllocs) {
        builder.inUse(inUse, requestedInUse, peakInUse).calls(allocs + foreignAllocs, reserves, failures, maxAlloc);
    }
}
