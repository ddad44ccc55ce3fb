package allocator.spi;

import java.util.List;

/**
 * The memory of an allocator as a value: see {@link InspectableAllocator}. The lists are unmodifiable.
 *
 * @param regions the regions, each lane's in unsigned order of address
 * @param blocks what is held outside regions, in unsigned order of address
 */
public record AllocatorSnapshot(List<Region> regions, List<Chunk> blocks) {
    /** The snapshot of an allocator that holds nothing. */
    public static final AllocatorSnapshot EMPTY = new AllocatorSnapshot(List.of(), List.of());

    /** Copies the lists. */
    public AllocatorSnapshot {
        regions = List.copyOf(regions);
        blocks = List.copyOf(blocks);
    }

    /** {@return the number of chunks of all regions and of the blocks outside them} */
    public int chunkCount() {
        return regions.stream().mapToInt(region -> region.chunks().size()).sum() + blocks.size();
    }

    /** What a chunk is used for. */
    public enum State {
        /** A block: allocated and not freed. */
        LIVE,

        /** Freed on a stream that may still use it; other streams get it once they are known to be behind that work. */
        WAITING,

        /** Freed, and stored whole for the next request of its size; not merged with its neighbours. */
        CACHED,

        /** Free for every requester. */
        FREE,

        /** An address without memory: nothing is mapped there, and nothing is held for it. */
        UNMAPPED,

        /** Memory that the device failed to take back: held, and not used again. */
        UNRETURNED,

        /** Freed, and of no use before the last live block of its region is freed. */
        PINNED
    }

    /**
     * A contiguous span that is divided into chunks.
     *
     * @param lane the number of the lane that it serves, from 0
     * @param address address of the first byte
     * @param byteSize size in bytes
     * @param chunks the chunks in order of address, which cover the region without gaps
     */
    public record Region(int lane, long address, long byteSize, List<Chunk> chunks) {
        /** Copies the list. */
        public Region {
            chunks = List.copyOf(chunks);
        }
    }

    /**
     * A part of a region, or a block outside regions.
     *
     * @param address address of the first byte
     * @param byteSize size in bytes, padding included
     * @param requestedBytes the bytes that the caller requested if it is live, otherwise {@code 0}
     * @param state what it is used for
     * @param streamId the {@linkplain SyncStream#id() id} of the stream that it was allocated or freed on, {@code 0} if
     *     there is none
     */
    public record Chunk(long address, long byteSize, long requestedBytes, State state, long streamId) {}
}
