package allocator.planner.search;

import java.util.Arrays;

/**
 * The fast heuristic: places each block, in a given order, on top of the highest block that it overlaps so far. The
 * heights over the sections are a tree, with the highest of each half, so that a block costs the logarithm of the
 * number of sections.
 */
final class Skyline {
    private final int leaves;

    /** The highest end within each node's sections. */
    private final long[] highest;

    /** The height of all sections of a node, where they are equal and its children are not up to date; otherwise -1. */
    private final long[] uniform;

    Skyline(int sections) {
        leaves = Math.max(1, Integer.highestOneBit(Math.max(1, sections - 1)) * 2);
        highest = new long[2 * leaves];
        uniform = new long[2 * leaves];
        Arrays.fill(uniform, -1);
    }

    /** Places all blocks; returns their offsets. An offset that exceeds the range of {@code long} is the largest. */
    static long[] place(Sections sections, int[] ranks) {
        final int[] order = new int[ranks.length];
        for (int b = 0; b < ranks.length; b++) {
            order[ranks[b]] = b;
        }
        final Skyline skyline = new Skyline(sections.count);
        final long[] offsets = new long[ranks.length];
        for (final int b : order) {
            final int to = sections.to[b];
            final long top = skyline.highest(1, 0, skyline.leaves, sections.from[b], to);
            final long offset = aligned(top, sections.alignment[b]);
            offsets[b] = offset;
            skyline.raise(1, 0, skyline.leaves, sections.from[b], to, end(offset, sections.size[b]));
        }
        return offsets;
    }

    /** Returns the height of a plan. */
    static long height(Sections sections, long[] offsets) {
        long height = 0;
        for (int b = 0; b < offsets.length; b++) {
            height = Math.max(height, end(offsets[b], sections.size[b]));
        }
        return height;
    }

    private static long aligned(long offset, long alignment) {
        return offset > Long.MAX_VALUE - alignment ? Long.MAX_VALUE : Problem.roundUp(offset, alignment);
    }

    private static long end(long offset, long size) {
        return offset > Long.MAX_VALUE - size ? Long.MAX_VALUE : offset + size;
    }

    private long highest(int node, int low, int high, int from, int to) {
        if ((from <= low && high <= to) || uniform[node] >= 0) {
            return highest[node];
        }
        final int middle = (low + high) >>> 1;
        long result = 0;
        if (from < middle) {
            result = highest(2 * node, low, middle, from, to);
        }
        if (to > middle) {
            result = Math.max(result, highest(2 * node + 1, middle, high, from, to));
        }
        return result;
    }

    private void raise(int node, int low, int high, int from, int to, long height) {
        if (from <= low && high <= to) {
            highest[node] = height;
            uniform[node] = height;
            return;
        }
        if (uniform[node] >= 0) {
            for (int child = 2 * node; child <= 2 * node + 1; child++) {
                highest[child] = uniform[node];
                uniform[child] = uniform[node];
            }
            uniform[node] = -1;
        }
        final int middle = (low + high) >>> 1;
        if (from < middle) {
            raise(2 * node, low, middle, from, to, height);
        }
        if (to > middle) {
            raise(2 * node + 1, middle, high, from, to, height);
        }
        highest[node] = Math.max(highest[2 * node], highest[2 * node + 1]);
    }
}
