package allocator.arena;

import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.List;

/**
 * An arena at one moment, as a value: for dumps, tests and visualization. All lists are in order of address and
 * unmodifiable.
 *
 * @param memory the memory that the arena serves
 * @param config the arena's configuration
 * @param stats the arena's counters
 * @param nextRegionBytes the size that doubling plans for the next region, in bytes
 * @param regions the regions
 * @param reserves allocations outside the regions
 * @param unreturned memory that the upstream allocator failed to take back: counted as held, and not used again
 */
public record ArenaSnapshot(
        MemoryInfo memory,
        ArenaConfig config,
        AllocatorStats stats,
        long nextRegionBytes,
        List<Region> regions,
        List<Span> reserves,
        List<Span> unreturned) {

    /** Copies the lists. */
    public ArenaSnapshot {
        regions = List.copyOf(regions);
        reserves = List.copyOf(reserves);
        unreturned = List.copyOf(unreturned);
    }

    /**
     * A region: one allocation of the upstream allocator that is divided into chunks.
     *
     * @param lane the number of the lane it belongs to; {@code 0} is the main lane
     * @param id its id, unique in the lane, and reused once the region is returned
     * @param address address of the first byte
     * @param byteSize size in bytes
     * @param chunks the chunks, which cover the region without gaps
     */
    public record Region(int lane, int id, long address, long byteSize, List<Chunk> chunks) {
        /** Copies the list. */
        public Region {
            chunks = List.copyOf(chunks);
        }
    }

    /**
     * A chunk: a part of a region, free or in use.
     *
     * @param address address of the first byte
     * @param byteSize size in bytes, padding included
     * @param isFree whether it is free
     * @param requestedBytes bytes that the caller requested; {@code 0} if it is free
     * @param streamId the {@linkplain allocator.spi.SyncStream#id() id} of the stream it is bound to, {@code 0} if it
     *     is unbound
     * @param stamp the stream's sync id when the chunk was freed; {@code 0} if it is in use or unbound
     * @param untouchedHeadBytes bytes at the start of a bound free chunk that its stream never used, and any stream may
     *     use
     * @param untouchedTailBytes bytes at the end of a bound free chunk that its stream never used, and any stream may
     *     use
     */
    public record Chunk(
            long address,
            long byteSize,
            boolean isFree,
            long requestedBytes,
            long streamId,
            long stamp,
            long untouchedHeadBytes,
            long untouchedTailBytes) {}

    /**
     * A span of memory held outside the regions.
     *
     * @param address address of the first byte
     * @param byteSize size in bytes
     */
    public record Span(long address, long byteSize) {}
}
