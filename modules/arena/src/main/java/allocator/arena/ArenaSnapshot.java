package allocator.arena;

import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import java.util.List;

/**
 * An arena at one moment, as a value: for dumps, tests and pictures. Lists are in order of address and unmodifiable.
 *
 * @param memory the memory that the arena serves
 * @param config its settings
 * @param stats its counters
 * @param nextRegionBytes what doubling asks for next
 * @param regions its regions
 * @param reserves what was reserved outside the regions
 * @param unreturned what the upstream allocator failed to take back: held and counted, but not handed out again
 */
public record ArenaSnapshot(
        MemoryInfo memory,
        ArenaConfig config,
        AllocatorStats stats,
        long nextRegionBytes,
        List<Region> regions,
        List<Block> reserves,
        List<Block> unreturned) {

    /** Copies the lists. */
    public ArenaSnapshot {
        regions = List.copyOf(regions);
        reserves = List.copyOf(reserves);
        unreturned = List.copyOf(unreturned);
    }

    /**
     * A region.
     *
     * @param lane the number of the lane that it belongs to; {@code 0} is the main lane
     * @param id its id in the lane; used again when the region is gone
     * @param address where it starts
     * @param byteSize its size
     * @param chunks what it is divided into, without gaps
     */
    public record Region(int lane, int id, long address, long byteSize, List<Chunk> chunks) {
        /** Copies the list. */
        public Region {
            chunks = List.copyOf(chunks);
        }
    }

    /**
     * A chunk.
     *
     * @param address where it starts
     * @param byteSize its size, padding included
     * @param isFree whether it is free
     * @param requestedBytes what the caller asked for; {@code 0} if it is free
     * @param streamId the {@linkplain allocator.spi.SyncStream#id() id} of the stream that owns it, {@code 0} if none
     *     does
     * @param stamp the owner's sync id when it was freed; {@code 0} if it is in use or has no owner
     * @param cleanHeadBytes bytes at the start of an owned free chunk that any stream may use
     * @param cleanTailBytes bytes at the end of an owned free chunk that any stream may use
     */
    public record Chunk(
            long address,
            long byteSize,
            boolean isFree,
            long requestedBytes,
            long streamId,
            long stamp,
            long cleanHeadBytes,
            long cleanTailBytes) {}

    /**
     * An allocation of the upstream allocator outside the regions.
     *
     * @param address where it starts
     * @param byteSize its size
     */
    public record Block(long address, long byteSize) {}
}
