package allocator.arena.compact;

import java.util.Arrays;

/**
 * The places of a lane's ranges: those of each side by side, with one behind them that has no addresses. Guarded by the
 * arena's lock; ranges are added under the device lock as well.
 */
public final class RangePlaces {
    private final int shift;

    /** In the order of their places. */
    private Range[] ranges = new Range[0];

    /** The range found last: most calls need no other. */
    private long start;

    private long byteSize;

    /** Where its first address would be if its first place were 0. */
    private long bias;

    private static final class Range {
        private final long start;
        private final long byteSize;
        private final int first;

        /** Nothing is mapped at or behind this place. */
        private int end;

        Range(long start, long byteSize, int first) {
            this.start = start;
            this.byteSize = byteSize;
            this.first = first;
            end = first;
        }
    }

    RangePlaces(int shift) {
        this.shift = shift;
    }

    /** Adds a range; it has no effect if it fails. */
    public void add(long address, long rangeBytes) {
        final int count = ranges.length;
        final Range range = new Range(address, rangeBytes, count == 0 ? 0 : behind(ranges[count - 1]) + 1);
        final Range[] longer = Arrays.copyOf(ranges, count + 1);
        longer[count] = range;
        ranges = longer;
        select(range);
    }

    /** Returns how many places a range that is added next may have at most, where there are so many in all. */
    public int left(int mostPlaces) {
        return ranges.length == 0 ? mostPlaces : Math.max(0, mostPlaces - behind(ranges[ranges.length - 1]) - 1);
    }

    private int behind(Range range) {
        return range.first + (int) (range.byteSize >>> shift);
    }

    private void select(Range range) {
        start = range.start;
        byteSize = range.byteSize;
        bias = range.start - ((long) range.first << shift);
    }

    /** Returns the place of an address of a range. */
    int place(long address) {
        if (Long.compareUnsigned(address - start, byteSize) >= 0) {
            select(rangeAt(address));
        }
        return nearPlace(address);
    }

    /** Returns the place of an address of the range for which {@link #place} was called last. */
    int nearPlace(long address) {
        return (int) ((address - bias) >>> shift);
    }

    private Range rangeAt(long address) {
        for (int i = ranges.length - 1; i > 0; i--) {
            if (Long.compareUnsigned(address - ranges[i].start, ranges[i].byteSize) < 0) {
                return ranges[i];
            }
        }
        return ranges[0];
    }

    /** Returns the first address of a place of the range for which {@link #place} was called last, or its end. */
    long near(int place) {
        return bias + ((long) place << shift);
    }

    /** Returns the first address of a place. Under one of the locks. */
    long address(int place) {
        final Range range = rangeWith(place);
        return range.start + ((long) (place - range.first) << shift);
    }

    private Range rangeWith(int place) {
        final Range[] all = ranges;
        int index = all.length - 1;
        while (all[index].first > place) {
            index--;
        }
        return all[index];
    }

    /** Returns the place behind the last one of the range of a place. */
    public int endOfRange(int place) {
        return behind(rangeWith(place));
    }

    /** Notes that a mapping ends before a place. */
    void mappedUpTo(int end) {
        final Range range = rangeWith(end - 1);
        range.end = Math.max(range.end, end);
    }

    /** Returns the first address from which on nothing is mapped in the range of an address. */
    long end(long address, Mappings mappings) {
        final Range range = rangeAt(address);
        while (range.end > range.first && mappings.extent(range.end - 1) == Mappings.NONE) {
            range.end--;
        }
        return range.start + ((long) (range.end - range.first) << shift);
    }
}
