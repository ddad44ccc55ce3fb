package allocator.trace;

import allocator.runtime.AllocatorReport;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import java.util.List;
import java.util.OptionalLong;

/**
 * The counts, bytes and times of a replay. Counts and bytes are those of the first replay, which began with an empty
 * arena of its own, so they depend only on the trace and the options. Bytes and blocks {@code AtEnd} are read after the
 * last event, before the remaining blocks are freed.
 *
 * @param trace the trace's name
 * @param provider name of the provider
 * @param device kind and number of the device, such as {@code gpu:0}
 * @param allocator the allocator that served the replay, with its effective settings and their origins
 * @param isCounted whether the allocator keeps statistics; if not, the figures read from them are 0 and mean nothing:
 *     bytes in use and held, {@code maxAllocSize}, {@code extensions} and {@code shrinkages}
 * @param events events of the trace: {@code allocations + frees}
 * @param allocations events that allocate, failed ones included
 * @param frees events that free, those of blocks whose allocation failed included
 * @param failedAllocations allocations that failed for lack of memory; the frees of their blocks are skipped
 * @param peakRequestedBytes the peak of the requested sizes of all live blocks, without failed allocations
 * @param peakInUseBytes the peak of the sizes of all live blocks, padding included
 * @param peakHeldBytes the peak of the bytes taken from the device
 * @param inUseAtEndBytes the sizes of the live blocks at the end, padding included
 * @param heldAtEndBytes the bytes taken from the device and not returned, at the end
 * @param liveAtEnd live blocks at the end
 * @param maxAllocSize the size of the largest block, padding included
 * @param extensions device allocations that the arena held at the end
 * @param shrinkages device allocations returned by the shrink after all blocks were freed
 * @param bytesHeldAfterShrink the bytes that the arena still held after that shrink
 * @param heldAfterShrink what those bytes consist of, with the reason for which each part stays; empty if the allocator
 *     gives none
 * @param countersAtEnd the counters of the allocator's own, read after the last event; empty if it has none
 * @param nsPerEventFirst nanoseconds per event of the first replay of this trace in this JVM; for the first trace it
 *     includes loading and interpreting the code
 * @param nsPerEventCold nanoseconds per event with an empty arena and warmed-up code: the median of several replays,
 *     each in a session of its own; {@link Double#NaN} if not measured
 * @param nsPerEventWarm nanoseconds per event with the arena that earlier replays filled: the median of several replays
 *     in one session; {@link Double#NaN} if not measured
 * @param pageMapsWarm pages mapped in the last of these replays, and in freeing the blocks of the one before: by how
 *     much the counter {@code NumPageMaps} of the allocator rose; empty if not measured, or if it has no such counter
 */
public record ReplayResult(
        String trace,
        String provider,
        String device,
        AllocatorReport allocator,
        boolean isCounted,
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
        List<ShrinkReport.Held> heldAfterShrink,
        List<AllocatorStats.Counter> countersAtEnd,
        double nsPerEventFirst,
        double nsPerEventCold,
        double nsPerEventWarm,
        OptionalLong pageMapsWarm) {

    /** The counter of the pages that an allocator has mapped. */
    static final String PAGE_MAPS = "NumPageMaps";

    /** Copies the lists. */
    public ReplayResult {
        heldAfterShrink = List.copyOf(heldAfterShrink);
        countersAtEnd = List.copyOf(countersAtEnd);
    }

    /**
     * {@return the overhead of the arena: peak bytes held divided by peak bytes requested; {@link Double#NaN} if
     * nothing was requested, or what was held is not counted}
     */
    public double heldOverRequested() {
        return peakRequestedBytes == 0 || !isCounted ? Double.NaN : (double) peakHeldBytes / peakRequestedBytes;
    }

    /** {@return the peak of the bytes of the allocator's physical pages; empty if it does not count pages} */
    public OptionalLong peakPhysicalBytes() {
        return counterAtEnd("PeakPhysicalBytes");
    }

    /**
     * {@return the peak of the bytes of addresses to which pages were mapped; empty if the allocator does not count
     * pages} A page that is mapped twice counts twice.
     */
    public OptionalLong peakMappedBytes() {
        return counterAtEnd("PeakMappedBytes");
    }

    private OptionalLong counterAtEnd(String name) {
        return countersAtEnd.stream()
                .filter(counter -> counter.name().equals(name))
                .mapToLong(AllocatorStats.Counter::value)
                .findFirst();
    }

    ReplayResult withTimes(double cold, double warm, OptionalLong pageMaps) {
        return new ReplayResult(
                trace,
                provider,
                device,
                allocator,
                isCounted,
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
                heldAfterShrink,
                countersAtEnd,
                nsPerEventFirst,
                cold,
                warm,
                pageMaps);
    }
}
