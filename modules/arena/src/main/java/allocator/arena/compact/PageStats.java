package allocator.arena.compact;

/**
 * How an arena's memory is backed.
 *
 * @param physicalBytes bytes of all extents
 * @param idleBytes the part of them in extents that no live allocation touches
 * @param mappedBytes bytes of addresses at which an extent is mapped; more than {@code physicalBytes} where extents are
 *     mapped at several addresses
 * @param peakPhysicalBytes the most bytes of extents so far
 * @param peakMappedBytes the most bytes of addresses so far
 * @param extents the number of extents
 * @param creates extents created so far
 * @param maps mappings made so far
 * @param unmaps mappings ended so far
 * @param moves idle extents that were mapped elsewhere so far, or released for smaller ones in their place
 * @param deniedMoves extents created so far since idle ones had been moved too often
 * @param deviceNanos nanoseconds spent in calls that created, mapped, unmapped and released extents
 */
public record PageStats(
        long physicalBytes,
        long idleBytes,
        long mappedBytes,
        long peakPhysicalBytes,
        long peakMappedBytes,
        long extents,
        long creates,
        long maps,
        long unmaps,
        long moves,
        long deniedMoves,
        long deviceNanos) {}
