package allocator.resource;

/**
 * What went through a {@link StatisticsResource} in one scope, at one moment.
 *
 * @param bytes bytes allocated less bytes deallocated; below zero if memory from before the scope was deallocated in it
 * @param peakBytes the most that {@code bytes} has been, at least 0
 * @param totalBytes bytes allocated
 * @param blocks allocations less deallocations
 * @param peakBlocks the most that {@code blocks} has been, at least 0
 * @param totalBlocks allocations
 */
public record ResourceStatistics(
        long bytes, long peakBytes, long totalBytes, long blocks, long peakBlocks, long totalBlocks) {}
