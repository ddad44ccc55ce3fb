package allocator.arena;

import java.util.Arrays;

/**
 * The lane of each region, by address in the unsigned order of machine addresses. A lookup takes no lock: a change
 * makes a copy, and what is published does not change.
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

    /** Returns a copy with room for one region more, so that {@link #add} cannot fail. */
    LaneRegions withRoom() {
        final int length = starts.length + 1;
        return new LaneRegions(
                Arrays.copyOf(starts, length), Arrays.copyOf(byteSizes, length), Arrays.copyOf(lanes, length));
    }

    /** Fills the room of a copy that no other thread reads yet. */
    LaneRegions add(Lane lane, long start, long byteSize) {
        final int last = starts.length - 1;
        final int index = -Arrays.binarySearch(starts, 0, last, ordered(start)) - 1;
        System.arraycopy(starts, index, starts, index + 1, last - index);
        System.arraycopy(byteSizes, index, byteSizes, index + 1, last - index);
        System.arraycopy(lanes, index, lanes, index + 1, last - index);
        starts[index] = ordered(start);
        byteSizes[index] = byteSize;
        lanes[index] = lane;
        return this;
    }

    /** Returns the regions without the one that starts at an address, if there is one. */
    LaneRegions without(long start) {
        final int index = Arrays.binarySearch(starts, ordered(start));
        if (index < 0) {
            return this;
        }
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
