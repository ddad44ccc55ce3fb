package allocator.onnxruntime.ep.capi;

import allocator.spi.AllocatorStats;
import java.util.Map;
import java.util.Set;

/** The statistics of an {@code OrtAllocator}. */
final class CApiStats {
    private static final Set<String> KEYS = AllocatorStats.NONE.toMap().keySet();

    private CApiStats() {}

    /** Converts the pairs of {@code AllocatorGetStats}. Further pairs are counters of the provider. */
    static AllocatorStats of(Map<String, String> pairs) {
        final AllocatorStats.Builder stats = new AllocatorStats.Builder()
                .limit(number(pairs, "Limit"))
                .inUse(number(pairs, "InUse"), number(pairs, "RequestedInUse"), number(pairs, "MaxInUse"))
                .held(number(pairs, "TotalAllocated"), number(pairs, "MaxTotalAllocated"))
                .free(number(pairs, "FreeBytes"), number(pairs, "LargestFreeChunk"))
                .calls(
                        number(pairs, "NumAllocs"),
                        number(pairs, "NumReserves"),
                        number(pairs, "NumFailedAllocs"),
                        number(pairs, "MaxAllocSize"))
                .regions(number(pairs, "NumArenaExtensions"), number(pairs, "NumArenaShrinkages"));
        pairs.forEach((key, value) -> {
            if (!KEYS.contains(key)) {
                final AllocatorStats.Builder ignored =
                        stats.counter(key, Long.parseLong(value), AllocatorStats.Unit.COUNT, false);
            }
        });
        return stats.build();
    }

    private static long number(Map<String, String> pairs, String key) {
        final String text = pairs.get(key);
        return text == null ? 0 : Long.parseLong(text);
    }

    /**
     * The statistics of a session's allocator, which ONNX Runtime reads from the provider and writes again: the
     * counters that it does not know are lost on the way.
     */
    static final class OfSession {
        private long peakHeld;

        /**
         * Converts the pairs. What was lost is derived, or 0: the peak of what is held is that of all calls, or that of
         * what is in use, which is held.
         */
        synchronized AllocatorStats of(Map<String, String> pairs, long shortages) {
            final AllocatorStats known = CApiStats.of(pairs);
            peakHeld = Math.max(peakHeld, Math.max(known.bytesHeld(), known.peakBytesInUse()));
            return new AllocatorStats.Builder()
                    .limit(pairs.containsKey("Limit") ? known.limit() : AllocatorStats.UNLIMITED)
                    .inUse(known.bytesInUse(), known.requestedBytesInUse(), known.peakBytesInUse())
                    .held(known.bytesHeld(), peakHeld)
                    .free(known.bytesHeld() - known.bytesInUse(), 0)
                    .calls(known.numAllocs(), known.numReserves(), shortages, known.maxAllocSize())
                    .regions(known.numArenaExtensions(), known.numArenaShrinkages())
                    .build();
        }
    }
}
