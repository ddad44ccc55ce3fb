package allocator.planner.search;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Blocks in units: the unit is the greatest common divisor of their sizes and of the alignment that all share, so that
 * the search does not see bytes. Sizes are rounded up to the shared alignment first.
 */
public final class Problem {
    /** The most bytes that may live at one time. */
    private static final long MOST_BYTES = 1L << 62;

    final long[] lower;
    final long[] upper;

    /** In units. */
    final long[] size;

    /** In units, at least 1; a divisor of it is the unit. */
    final long[] alignment;

    /** The bytes of a unit. */
    final long unit;

    /** Whether every offset is aligned. */
    final boolean isUnaligned;

    private final boolean[] isEmpty;

    /**
     * Checks the sum of the blocks that live at one time.
     *
     * @param lower where each lifetime begins
     * @param upper where it ends
     * @param byteSize the sizes
     * @param byteAlignment the alignments
     * @throws IllegalArgumentException if the blocks that live at one time need more than 2<sup>62</sup> bytes
     */
    public Problem(long[] lower, long[] upper, long[] byteSize, long[] byteAlignment) {
        this.lower = lower;
        this.upper = upper;
        final int count = lower.length;
        isEmpty = new boolean[count];
        long shared = Long.MAX_VALUE;
        for (int b = 0; b < count; b++) {
            isEmpty[b] = lower[b] == upper[b] || byteSize[b] == 0;
            shared = isEmpty[b] ? shared : Math.min(shared, byteAlignment[b]);
        }
        size = new long[count];
        alignment = new long[count];
        long divisor = 0;
        for (int b = 0; b < count; b++) {
            if (!isEmpty[b]) {
                size[b] = roundUp(byteSize[b], shared);
                divisor = gcd(size[b], divisor);
            }
        }
        // Alignments are powers of two: what divides sizes and alignments is the power of two in the divisor.
        boolean areUnaligned = true;
        for (int b = 0; b < count; b++) {
            areUnaligned &= isEmpty[b] || byteAlignment[b] == shared;
        }
        unit = count(isEmpty) == count ? 1 : areUnaligned ? divisor : gcd(divisor, shared);
        for (int b = 0; b < count; b++) {
            size[b] /= unit;
            alignment[b] = areUnaligned || isEmpty[b] ? 1 : Math.max(1, byteAlignment[b] / unit);
        }
        isUnaligned = areUnaligned;
        requireRepresentable();
    }

    private static int count(boolean[] flags) {
        return (int) IntStream.range(0, flags.length).filter(i -> flags[i]).count();
    }

    private void requireRepresentable() {
        final int[] starts = blocksBy(lower);
        final int[] ends = blocksBy(upper);
        long live = 0;
        int ended = 0;
        for (final int b : starts) {
            while (upper[ends[ended]] <= lower[b]) {
                live -= size[ends[ended++]];
            }
            if (size[b] > MOST_BYTES / unit - live) {
                throw new IllegalArgumentException("the blocks that live at time " + lower[b] + " need more than "
                        + MOST_BYTES + " bytes together");
            }
            live += size[b];
        }
    }

    /** Returns the blocks that are not empty, sorted by a time. */
    int[] blocksBy(long[] time) {
        final int[] blocks =
                IntStream.range(0, size.length).filter(b -> !isEmpty[b]).toArray();
        return sorted(blocks, time);
    }

    /** Returns blocks sorted by a key, then by index. */
    static int[] sorted(int[] blocks, long[] key) {
        final int[] increasing = blocks.clone();
        Arrays.sort(increasing);
        final long[] keys = new long[increasing.length];
        Arrays.setAll(keys, i -> key[increasing[i]]);
        final int[] order = Ranking.by(keys).order();
        Arrays.setAll(order, i -> increasing[order[i]]);
        return order;
    }

    /** Returns the units that hold a number of bytes. */
    long unitsWithin(long bytes) {
        return bytes / unit;
    }

    /**
     * {@return offsets in bytes, in a new array}
     *
     * @param units offsets in units
     */
    public long[] bytes(long[] units) {
        return Arrays.stream(units).map(offset -> offset * unit).toArray();
    }

    static long roundUp(long value, long multiple) {
        return multiple == 1 ? value : Math.ceilDiv(value, multiple) * multiple;
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
