package allocator.resource;

/**
 * The counters of one scope of a {@link StatisticsResource}, at one moment.
 *
 * @param bytes bytes allocated less bytes deallocated; negative if memory from before the scope was deallocated in it
 * @param peakBytes the maximum of {@code bytes}, at least 0
 * @param totalBytes bytes allocated
 * @param blocks allocations less deallocations
 * @param peakBlocks the maximum of {@code blocks}, at least 0
 * @param totalBlocks allocations
 */
public record ResourceStatistics(
        long bytes, long peakBytes, long totalBytes, long blocks, long peakBlocks, long totalBlocks) {}
