package allocator.arena;

import java.util.Arrays;

/**
 * The lane of each region, by address in the unsigned order of machine addresses. Immutable, so that a lookup takes no
 * lock; a change makes a copy.
 */
final class LaneRegions {
    static final LaneRegions NONE = new LaneRegions(new long[0], new long[0], new Lane[0]);

    /** In order, with the highest bit flipped so that signed comparison orders them. */
    private final long[] starts;

    private final long[] byteSizes;
    private final Lane[] lanes;

    private LaneRegions(long[] starts, long[] byteSizes, Lane[] lanes) {
        this.starts = starts;
        this.byteSizes = byteSizes;
        this.lanes = lanes;
    }

    private static long ordered(long address) {
        return address ^ Long.MIN_VALUE;
    }

    /** Returns the lane with a region that contains an address, {@code otherwise} if there is none. */
    Lane find(long address, Lane otherwise) {
        final long wanted = ordered(address);
        int low = 0;
        int high = starts.length;
        while (low < high) {
            final int middle = (low + high) >>> 1;
            if (starts[middle] <= wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low > 0 && Long.compareUnsigned(wanted - starts[low - 1], byteSizes[low - 1]) < 0
                ? lanes[low - 1]
                : otherwise;
    }

    LaneRegions with(long start, long byteSize, Lane lane) {
        final int index = -Arrays.binarySearch(starts, ordered(start)) - 1;
        final Lane[] newLanes = Arrays.copyOf(lanes, lanes.length + 1);
        System.arraycopy(lanes, index, newLanes, index + 1, lanes.length - index);
        newLanes[index] = lane;
        return new LaneRegions(insert(starts, index, ordered(start)), insert(byteSizes, index, byteSize), newLanes);
    }

    private static long[] insert(long[] values, int index, long value) {
        final long[] longer = Arrays.copyOf(values, values.length + 1);
        System.arraycopy(values, index, longer, index + 1, values.length - index);
        longer[index] = value;
        return longer;
    }

    LaneRegions without(long start) {
        final int index = Arrays.binarySearch(starts, ordered(start));
        final Lane[] newLanes = Arrays.copyOf(lanes, lanes.length - 1);
        System.arraycopy(lanes, index + 1, newLanes, index, newLanes.length - index);
        return new LaneRegions(remove(starts, index), remove(byteSizes, index), newLanes);
    }

    private static long[] remove(long[] values, int index) {
        final long[] shorter = Arrays.copyOf(values, values.length - 1);
        System.arraycopy(values, index + 1, shorter, index, shorter.length - index);
        return shorter;
    }
}
