package allocator.arena.bump;

import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A region of a {@link BumpAllocator} and its blocks, in order of their offsets. A freed block keeps its entry until
 * the last block of the region is freed, which resets the region.
 *
 * <p>A block and the counters change in one step without a call, so that nothing can fail between two stores.
 */
final class BlockRegion extends BumpRegion {
    /** Whether it was taken for a single request, outside the chain's limit. */
    final boolean isForOneRequest;

    /** The place among all regions, in order of address. */
    final RegionTree.Node byAddress = new RegionTree.Node(this);

    /** The place among the regions of the lane, in order of room, unless this is its current one. */
    final RegionTree.Node inLane = new RegionTree.Node(this);

    /** The lane that has this region. */
    BumpLane lane;

    /** The sync id of the lane's stream at the last free in this region. */
    long freeStamp;

    private long top;
    private int count;
    private int live;
    private long[] offsets;

    /** Inverted ({@code ~}) where the block is freed. */
    private long[] sizes;

    BlockRegion(long byteSize, BumpLane lane, boolean isForOneRequest) {
        super(byteSize);
        this.lane = lane;
        this.isForOneRequest = isForOneRequest;
        this.offsets = new long[isForOneRequest ? 1 : 16];
        this.sizes = new long[isForOneRequest ? 1 : 16];
    }

    boolean isEmpty() {
        return live == 0;
    }

    /** Returns whether a free makes this region empty. */
    boolean hasOneBlock() {
        return live == 1;
    }

    /** Returns the smaller of two empty regions, the one of the lower address if they are equal. */
    static @Nullable BlockRegion smaller(@Nullable BlockRegion one, @Nullable BlockRegion other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        final boolean isOne = one.byteSize == other.byteSize
                ? Long.compareUnsigned(one.base(), other.base()) < 0
                : one.byteSize < other.byteSize;
        return isOne ? one : other;
    }

    @Override
    long room(long byteAlignment) {
        return Math.max(0, byteSize - align(top, byteAlignment));
    }

    /** Allocates and counts a block and returns its address; {@code 0} if there is no room. */
    long bump(long wantedSize, long byteAlignment, BumpCounters counters) {
        final long start = align(top, byteAlignment);
        if (wantedSize > byteSize - start) {
            return 0;
        }
        if (count == offsets.length) {
            growTables();
        }
        final long address = base() + start;
        offsets[count] = start;
        sizes[count] = wantedSize;
        count++;
        live++;
        top = start + wantedSize;
        counters.numAllocs++;
        counters.bytesInUse += wantedSize;
        if (counters.bytesInUse > counters.peakBytesInUse) {
            counters.peakBytesInUse = counters.bytesInUse;
        }
        if (wantedSize > counters.maxAllocSize) {
            counters.maxAllocSize = wantedSize;
        }
        return address;
    }

    private void growTables() {
        final long[] newOffsets = Arrays.copyOf(offsets, 2 * count);
        final long[] newSizes = Arrays.copyOf(sizes, 2 * count);
        offsets = newOffsets;
        sizes = newSizes;
    }

    /**
     * Frees and uncounts the block at an address in this region.
     *
     * @param stamp the sync id of the lane's stream
     * @throws InvalidFreeException if no live block starts there
     */
    void free(long address, long stamp, BumpCounters counters) {
        final long offset = address - base();
        final int found = Arrays.binarySearch(offsets, 0, count, offset);
        if (found < 0 || sizes[found] < 0) {
            throw invalidFree(address, found < 0 ? -found - 2 : found);
        }
        final long freed = sizes[found];
        sizes[found] = ~freed;
        freeStamp = stamp;
        live--;
        if (live == 0) {
            top = 0;
            count = 0;
        }
        counters.bytesInUse -= freed;
    }

    /** Describes this region: live blocks, what is pinned by them, and the room behind. */
    Region inspect() {
        final List<Chunk> chunks = new ArrayList<>();
        long pinned = 0; // from here on
        for (int block = 0; block < count; block++) {
            if (sizes[block] >= 0) {
                add(chunks, pinned, offsets[block], State.PINNED, 0);
                final long end = block + 1 < count ? offsets[block + 1] : top;
                final long start = offsets[block];
                chunks.add(new Chunk(base() + start, end - start, sizes[block], State.LIVE, lane.streamId()));
                pinned = end;
            }
        }
        add(chunks, pinned, top, State.PINNED, 0);
        final long stream = lane.streamId();
        add(chunks, top, byteSize, stream == 0 ? State.FREE : State.WAITING, stream);
        return new Region(0, base(), byteSize, chunks);
    }

    private void add(List<Chunk> chunks, long start, long end, State state, long stream) {
        if (end > start) {
            chunks.add(new Chunk(base() + start, end - start, 0, state, stream));
        }
    }

    /** Diagnoses an address, given the last block that begins at or below it; {@code -1} if there is none. */
    private InvalidFreeException invalidFree(long address, int block) {
        final long offset = address - base();
        if (block < 0) {
            return new ForeignAddressException(address, "nothing was allocated there since its region was empty");
        }
        final long into = offset - offsets[block];
        if (sizes[block] >= 0 && into < sizes[block]) {
            return new InteriorAddressException(
                    address, "it lies " + into + " bytes inside a live allocation of " + sizes[block] + " bytes");
        }
        return into == 0
                ? new DoubleFreeException(address, "it was freed already")
                : new ForeignAddressException(address, "it was never handed out");
    }
}
