package allocator.bench.gpu;

import allocator.spi.AllocatorStats;

/** What an allocator counts of the pages that it maps; nothing is added of one that has no pages. */
final class Pages {
    private static final String MAPS = "NumPageMaps";

    private Pages() {}

    /**
     * Adds what pages cost between two moments, and the most that was mapped.
     *
     * @param threads how many threads replayed
     * @param passes how many replays were made in between, by all threads
     * @param events how many events there are in all these replays
     */
    static void add(
            Results results,
            String workload,
            int threads,
            AllocatorStats before,
            AllocatorStats after,
            int passes,
            long events) {
        if (after.counter(MAPS).isEmpty()) {
            return;
        }
        final long calls = difference(before, after, MAPS) + difference(before, after, "NumPageUnmaps");
        final long nanos = difference(before, after, "PageNanoseconds");
        results.add(workload, threads, "page_calls_settled", calls / (double) passes);
        results.add(workload, threads, "page_ns_per_event_settled", nanos / (double) events);
        results.add(workload, threads, "peak_mapped_bytes", (double) value(after, "PeakMappedBytes"));
    }

    private static long difference(AllocatorStats before, AllocatorStats after, String name) {
        return value(after, name) - value(before, name);
    }

    private static long value(AllocatorStats stats, String name) {
        return stats.counter(name)
                .orElseThrow(() -> new IllegalStateException("there is no counter " + name))
                .value();
    }
}
