package allocator.trace;

import allocator.runtime.AllocatorReport;

/**
 * What a replay of a trace did and took. Counts and bytes are those of the first replay, which began with an arena of
 * its own that held nothing, so that they depend on the trace and the options only. Bytes and blocks {@code AtEnd} are
 * taken after the last event, before what still lives is freed.
 *
 * @param trace the trace's name
 * @param provider name of the provider
 * @param device kind and number of the device, such as {@code gpu:0}
 * @param allocator the allocator that served the replay, with its settings in force and where they come from
 * @param events events of the trace: {@code allocations + frees}
 * @param allocations events that allocate, failed ones included
 * @param frees events that free, those of blocks whose allocation failed included
 * @param failedAllocations allocations that failed for lack of memory; the frees of their blocks are skipped
 * @param peakRequestedBytes the largest sum of the sizes, as asked for, of the blocks that lived at once; failed
 *     allocations do not count
 * @param peakInUseBytes the most that was handed out at once, padding included
 * @param peakHeldBytes the most that was taken from the device at once
 * @param inUseAtEndBytes handed out at the end, padding included
 * @param heldAtEndBytes taken from the device and not returned, at the end
 * @param liveAtEnd blocks that lived at the end
 * @param maxAllocSize the largest block handed out, padding included
 * @param extensions device allocations that the arena held at the end
 * @param shrinkages device allocations that went back in the shrink after everything was freed
 * @param bytesHeldAfterShrink what the arena still held after that shrink
 * @param nsPerEventFirst nanoseconds per event of the first replay of this trace in this JVM; if it is also the first
 *     of any trace, loading and interpreting the code is part of it
 * @param nsPerEventCold nanoseconds per event with an arena that held nothing, code warmed up: the median of several
 *     replays, each in a session of its own; {@link Double#NaN} if not measured
 * @param nsPerEventWarm nanoseconds per event with an arena that held what earlier replays had needed: the median of
 *     several replays in one session; {@link Double#NaN} if not measured
 */
public record ReplayResult(
        String trace,
        String provider,
        String device,
        AllocatorReport allocator,
        int events,
        int allocations,
        int frees,
        int failedAllocations,
        long peakRequestedBytes,
        long peakInUseBytes,
        long peakHeldBytes,
        long inUseAtEndBytes,
        long heldAtEndBytes,
        int liveAtEnd,
        long maxAllocSize,
        long extensions,
        long shrinkages,
        long bytesHeldAfterShrink,
        double nsPerEventFirst,
        double nsPerEventCold,
        double nsPerEventWarm) {

    /**
     * What the arena cost: the peak of bytes held by the peak of bytes requested.
     *
     * @return the ratio, {@link Double#NaN} if nothing was requested
     */
    public double heldOverRequested() {
        return peakRequestedBytes == 0 ? Double.NaN : (double) peakHeldBytes / peakRequestedBytes;
    }

    ReplayResult withTimes(double cold, double warm) {
        return new ReplayResult(
                trace,
                provider,
                device,
                allocator,
                events,
                allocations,
                frees,
                failedAllocations,
                peakRequestedBytes,
                peakInUseBytes,
                peakHeldBytes,
                inUseAtEndBytes,
                heldAtEndBytes,
                liveAtEnd,
                maxAllocSize,
                extensions,
                shrinkages,
                bytesHeldAfterShrink,
                nsPerEventFirst,
                cold,
                warm);
    }
}
