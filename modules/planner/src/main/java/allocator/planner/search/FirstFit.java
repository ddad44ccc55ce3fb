package allocator.planner.search;

import java.util.Arrays;

/**
 * The slowest heuristic: places each block, in a given order, into the lowest gap between the placed blocks that it
 * overlaps. Slower than {@link Skyline}, whose gaps stay unused: a block costs the number of blocks that it overlaps.
 */
final class FirstFit {
    /** Offsets are sorted together with a block's index, in one {@code long}. */
    private static final int INDEX_BITS = 26;

    private static final long MOST_OFFSET = Long.MAX_VALUE >> INDEX_BITS;

    private FirstFit() {}

    /** Places all blocks; returns their offsets, or none if one is too large, or the effort is over. */
    static long[] place(Sections sections, int[][] neighbours, int[] ranks, Effort effort) {
        final int[] order = new int[ranks.length];
        for (int b = 0; b < ranks.length; b++) {
            order[ranks[b]] = b;
        }
        final long[] offsets = new long[ranks.length];
        final boolean[] isPlaced = new boolean[ranks.length];
        final long[] below = new long[ranks.length];
        for (final int b : order) {
            effort.spend(4L * neighbours[b].length);
            int count = 0;
            for (final int other : neighbours[b]) {
                if (isPlaced[other]) {
                    below[count++] = offsets[other] << INDEX_BITS | other;
                }
            }
            effort.spend(4L * count);
            Arrays.sort(below, 0, count);
            offsets[b] = lowestGap(sections, below, count, b);
            isPlaced[b] = true;
            if (offsets[b] > MOST_OFFSET - sections.size[b] || !effort.step()) {
                return new long[0];
            }
        }
        return offsets;
    }

    private static long lowestGap(Sections sections, long[] below, int count, int block) {
        final int indexMask = (1 << INDEX_BITS) - 1;
        long offset = 0;
        for (int i = 0; i < count; i++) {
            if ((below[i] >>> INDEX_BITS) - offset >= sections.size[block]) {
                return offset;
            }
            final long end = (below[i] >>> INDEX_BITS) + sections.size[(int) (below[i] & indexMask)];
            offset = Math.max(offset, Problem.roundUp(end, sections.alignment[block]));
        }
        return offset;
    }
}
