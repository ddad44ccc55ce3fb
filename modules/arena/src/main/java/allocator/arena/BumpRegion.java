package allocator.arena;

import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import java.util.Arrays;

/**
 * A region of a {@link BumpAllocator} and its blocks, in order of their offsets. A block that is freed keeps its entry
 * until the last one is; then the region begins anew.
 *
 * <p>Not safe for use by several threads.
 */
final class BumpRegion {
    final long base;
    final long byteSize;

    /** Whether it was taken for one request and goes back to the device with it. */
    final boolean isForOne;

    private long top;
    private int count;
    private int live;
    private long[] offsets;

    /** Turned over ({@code ~}) where the block is freed. */
    private long[] sizes;

    BumpRegion(long base, long byteSize, boolean isForOne) {
        this.base = base;
        this.byteSize = byteSize;
        this.isForOne = isForOne;
        this.offsets = new long[isForOne ? 1 : 16];
        this.sizes = new long[isForOne ? 1 : 16];
    }

    boolean isEmpty() {
        return live == 0;
    }

    boolean contains(long address) {
        return Long.compareUnsigned(address - base, byteSize) < 0;
    }

    /** The largest request that finds room here. */
    long room(long byteAlignment) {
        return Math.max(0, byteSize - start(byteAlignment));
    }

    private long start(long byteAlignment) {
        return (top + byteAlignment - 1) & -byteAlignment;
    }

    /** The address of a new block; {@code 0} if it has no room. The base is aligned, and so are offsets from it. */
    long bump(long wantedSize, long byteAlignment) {
        final long start = start(byteAlignment);
        if (wantedSize > byteSize - start) {
            return 0;
        }
        if (count == offsets.length) {
            offsets = Arrays.copyOf(offsets, 2 * count);
            sizes = Arrays.copyOf(sizes, 2 * count);
        }
        offsets[count] = start;
        sizes[count] = wantedSize;
        count++;
        live++;
        top = start + wantedSize;
        return base + start;
    }

    /** Frees the block at an address in here, and tells its size. */
    long free(long address) {
        final long offset = address - base;
        final int found = Arrays.binarySearch(offsets, 0, count, offset);
        if (found < 0 || sizes[found] < 0) {
            throw refusal(address, found < 0 ? -found - 2 : found);
        }
        final long freed = sizes[found];
        sizes[found] = ~freed;
        live--;
        if (live == 0) {
            top = 0;
            count = 0;
        }
        return freed;
    }

    /** What is wrong with an address, given the last block that begins at or below it, if any. */
    private InvalidFreeException refusal(long address, int block) {
        final long offset = address - base;
        if (block < 0 || offset >= top) {
            return new ForeignAddressException(address, "nothing was allocated there since its region was empty");
        }
        final long into = offset - offsets[block];
        if (sizes[block] >= 0 && into < sizes[block]) {
            return new InteriorAddressException(
                    address, "it lies " + into + " bytes inside a live allocation of " + sizes[block] + " bytes");
        }
        return into == 0
                ? new DoubleFreeException(address, "it is free already")
                : new ForeignAddressException(address, "it was never handed out");
    }
}
