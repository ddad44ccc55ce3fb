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

    /** Makes room for a region of a lane, so that {@link Room#with} cannot fail. */
    Room roomFor(Lane lane) {
        return new Room(lane, starts.length + 1);
    }

    /** A table with room for one region more, which is filled once. */
    static final class Room {
        private final Lane lane;
        private final LaneRegions larger;

        private Room(Lane lane, int length) {
            this.lane = lane;
            larger = new LaneRegions(new long[length], new long[length], new Lane[length]);
        }

        /** Returns the regions of {@code table}, for which the room was made, and one region more. */
        LaneRegions with(LaneRegions table, long start, long byteSize) {
            final int index = -Arrays.binarySearch(table.starts, ordered(start)) - 1;
            final int after = table.starts.length - index;
            System.arraycopy(table.starts, 0, larger.starts, 0, index);
            System.arraycopy(table.starts, index, larger.starts, index + 1, after);
            System.arraycopy(table.byteSizes, 0, larger.byteSizes, 0, index);
            System.arraycopy(table.byteSizes, index, larger.byteSizes, index + 1, after);
            System.arraycopy(table.lanes, 0, larger.lanes, 0, index);
            System.arraycopy(table.lanes, index, larger.lanes, index + 1, after);
            larger.starts[index] = ordered(start);
            larger.byteSizes[index] = byteSize;
            larger.lanes[index] = lane;
            return larger;
        }
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
