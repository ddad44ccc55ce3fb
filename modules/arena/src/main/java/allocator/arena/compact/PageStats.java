package allocator.arena.compact;

/**
 * How an arena's memory is backed.
 *
 * @param physicalBytes bytes of all pages
 * @param idleBytes the part of them that no live allocation touches
 * @param mappedBytes bytes of addresses at which a page is mapped; more than {@code physicalBytes} where pages are
 *     mapped at several addresses
 * @param peakPhysicalBytes the most bytes of pages so far
 * @param peakMappedBytes the most bytes of addresses so far
 * @param maps mappings made so far
 * @param unmaps mappings ended so far
 * @param deviceNanos nanoseconds spent in calls that created, mapped, unmapped and released pages
 */
public record PageStats(
        long physicalBytes,
        long idleBytes,
        long mappedBytes,
        long peakPhysicalBytes,
        long peakMappedBytes,
        long maps,
        long unmaps,
        long deviceNanos) {}
