package allocator.arena.plan;

import allocator.provider.support.HeapSize;
import java.util.Arrays;

/** The offsets at which planned blocks begin, found by hashing, and the live block that begins at each. */
final class Places {
    /** No block begins at the offset. */
    static final int NONE = -1;

    /** Spreads offsets: 2<sup>64</sup> over the golden ratio. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** By place, the block that is live there; {@link PlannedBlocks#NONE} if none is. */
    final int[] live;

    /** By place, its offset; {@code -1} where there is no place. */
    private final long[] offsets;

    private final int shift;

    /**
     * Makes places.
     *
     * @param offsetsOfBlocks the offsets, each as often as blocks begin there
     */
    Places(long[] offsetsOfBlocks) {
        final long[] distinct =
                Arrays.stream(offsetsOfBlocks).sorted().distinct().toArray();
        final int bits = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(2 * distinct.length, 2) - 1);
        offsets = new long[1 << bits];
        Arrays.fill(offsets, -1);
        shift = Long.SIZE - bits;
        for (final long offset : distinct) {
            int place = first(offset);
            while (offsets[place] >= 0) {
                place = next(place);
            }
            offsets[place] = offset;
        }
        live = new int[offsets.length];
        Arrays.fill(live, PlannedBlocks.NONE);
    }

    private int first(long offset) {
        return (int) ((offset * SPREAD) >>> shift);
    }

    private int next(int place) {
        return (place + 1) & (offsets.length - 1);
    }

    /** Returns the place of an offset, {@link #NONE} if no block begins there. */
    int find(long offset) {
        int place = first(offset);
        while (offsets[place] != offset) {
            if (offsets[place] < 0) {
                return NONE;
            }
            place = next(place);
        }
        return place;
    }

    long heapBytes() {
        return HeapSize.ofLongs(offsets.length) + HeapSize.ofInts(live.length);
    }
}
