package allocator.planner.search;

import java.util.Arrays;

/**
 * A heuristic: walks over time and places each block where it begins, into the lowest gap between the blocks that live,
 * or the smallest, those that live longest first. With the lowest it is {@link Greedy} in that order, without lists: a
 * block costs the number of blocks that live when it begins.
 */
final class Sweep {
    private final Sections sections;
    private final boolean isBest;
    private final long[] offsets;

    /** The blocks that live, by their offsets. */
    private int[] live = new int[16];

    private int count;

    private Sweep(Sections sections, boolean isBest) {
        this.sections = sections;
        this.isBest = isBest;
        offsets = new long[sections.blocks()];
    }

    /** Places all blocks; returns their offsets, or none if one is too large, or the effort is over. */
    static long[] place(Sections sections, int[] ranks, boolean isBest, Effort effort) {
        final int[] order = new int[ranks.length];
        for (int b = 0; b < ranks.length; b++) {
            order[ranks[b]] = b;
        }
        final Sweep sweep = new Sweep(sections, isBest);
        for (final int b : order) {
            if (!effort.spend(2L * sweep.count) || !sweep.place(b)) {
                return new long[0];
            }
        }
        return sweep.offsets;
    }

    /** Places a block, and forgets those that have ended; returns whether its end is in the range of {@code long}. */
    private boolean place(int block) {
        final long size = sections.size[block];
        final int now = sections.from[block];
        long top = 0;
        long found = -1;
        long least = Long.MAX_VALUE;
        int position = 0;
        int kept = 0;
        for (int i = 0; i < count; i++) {
            final int other = live[i];
            if (sections.to[other] > now) {
                if (found < 0 || isBest) {
                    final long gap = offsets[other] - top;
                    if (gap >= size && gap < least) {
                        found = top;
                        least = gap;
                        position = kept;
                    }
                    final long end = offsets[other] + sections.size[other];
                    if (end > top) {
                        if (end > Long.MAX_VALUE - sections.alignment[block]) {
                            return false;
                        }
                        top = Problem.roundUp(end, sections.alignment[block]);
                    }
                }
                live[kept++] = other;
            }
        }
        insert(block, found < 0 ? kept : position, kept);
        offsets[block] = found < 0 ? top : found;
        return offsets[block] <= Long.MAX_VALUE - size;
    }

    private void insert(int block, int position, int kept) {
        if (kept == live.length) {
            live = Arrays.copyOf(live, 2 * kept);
        }
        System.arraycopy(live, position, live, position + 1, kept - position);
        live[position] = block;
        count = kept + 1;
    }
}
