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
 */
final class BlockRegion extends BumpRegion {
    /** What a region is for. */
    enum Kind {
        /** The blocks of a lane, within the limit of {@link BumpConfig}. */
        SHARED,
        /** A single request, outside that limit. */
        ONE_REQUEST,
        /** A reserve. */
        RESERVE
    }

    final Kind kind;

    /** The lane that has this region; {@code null} for a reserve, and for memory that could not be returned. */
    @Nullable
    BumpLane lane;

    /** The list of its lane that has this region, {@code null} if none has it; and the regions beside it there. */
    @Nullable
    RegionList list;

    @Nullable
    BlockRegion before;

    @Nullable
    BlockRegion after;

    /** The sync id of the lane's stream at the last free in this region. */
    long freeStamp;

    private final long byteAlignment;
    private long top;
    private int count;
    private int live;
    private long[] offsets;

    /** Inverted ({@code ~}) where the block is freed. */
    private long[] sizes;

    BlockRegion(long byteSize, Kind kind, long byteAlignment) {
        super(byteSize);
        this.kind = kind;
        this.byteAlignment = byteAlignment;
        this.offsets = new long[kind == Kind.SHARED ? 16 : 1];
        this.sizes = new long[kind == Kind.SHARED ? 16 : 1];
    }

    boolean isEmpty() {
        return live == 0;
    }

    /** Returns the largest request that fits; zero or less if there is no room. */
    long room() {
        return byteSize - align(top, byteAlignment);
    }

    /** Returns whether this region is smaller than another, or is of the same size and at a lower address. */
    boolean isBefore(BlockRegion other) {
        return byteSize == other.byteSize ? base() < other.base() : byteSize < other.byteSize;
    }

    /** Removes this region from the list that has it, if any. */
    void leaveList() {
        if (list != null) {
            list.remove(this);
        }
    }

    /** Removes this region from its lane, if it has one. */
    void leaveLane() {
        leaveList();
        if (lane != null && lane.current == this) {
            lane.current = null;
        }
        lane = null;
    }

    /** Allocates a block, for which there is {@link #room} and {@linkplain #ensureRoom an entry}. */
    long bump(long wantedSize) {
        final long start = align(top, byteAlignment);
        offsets[count] = start;
        sizes[count] = wantedSize;
        count++;
        live++;
        top = start + wantedSize;
        return base() + start;
    }

    /** Makes an entry for a block more. If the Java heap has none, nothing changes. */
    void ensureRoom() {
        if (count == offsets.length) {
            final long[] newOffsets = Arrays.copyOf(offsets, 2 * count);
            final long[] newSizes = Arrays.copyOf(sizes, 2 * count);
            offsets = newOffsets;
            sizes = newSizes;
        }
    }

    /**
     * Returns the index of the live block at an address in this region.
     *
     * @throws InvalidFreeException if no live block starts there
     */
    int find(long address) {
        final int found = Arrays.binarySearch(offsets, 0, count, address - base());
        if (found < 0 || sizes[found] < 0) {
            throw invalidFree(address, found < 0 ? -found - 2 : found);
        }
        return found;
    }

    /**
     * Frees a block that was {@linkplain #find found}. Returns its size.
     *
     * @param stamp the sync id of the lane's stream
     */
    long free(int block, long stamp) {
        final long freed = sizes[block];
        sizes[block] = ~freed;
        freeStamp = stamp;
        live--;
        if (live == 0) {
            top = 0;
            count = 0;
        }
        return freed;
    }

    /** Describes this region: live blocks, what is pinned by them, and the room behind. */
    Region inspect() {
        final long stream = lane == null ? 0 : lane.streamId();
        final List<Chunk> chunks = new ArrayList<>();
        long pinned = 0; // from here on
        for (int block = 0; block < count; block++) {
            if (sizes[block] >= 0) {
                add(chunks, pinned, offsets[block], State.PINNED, 0);
                final long end = block + 1 < count ? offsets[block + 1] : top;
                final long start = offsets[block];
                chunks.add(new Chunk(base() + start, end - start, sizes[block], State.LIVE, stream));
                pinned = end;
            }
        }
        add(chunks, pinned, top, State.PINNED, 0);
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
