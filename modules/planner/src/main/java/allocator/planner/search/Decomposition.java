package allocator.planner.search;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Splits a problem into parts that can be planned one by one, without loss.
 *
 * <p>Where no block lives from before a time to after it, the blocks on either side are independent. A block that
 * overlaps every other one of its part divides all others into those above and those below it, so it may as well lie at
 * the bottom; without it the part may fall into more parts. Both are repeated in turn.
 */
final class Decomposition {
    /** How deep parts are divided, so that nested lifetimes do not cost quadratic time. */
    private static final int MOST_LEVELS = 64;

    private record Level(Part part, int depth) {}

    private final Problem problem;
    private final long[] offsets;
    private final List<Part> parts = new ArrayList<>();
    private final Deque<Level> pending = new ArrayDeque<>();
    private long height;

    /** Divides a problem; writes the offsets of the blocks at the bottom. */
    Decomposition(Problem problem, long[] offsets) {
        this.problem = problem;
        this.offsets = offsets;
        pending.push(new Level(new Part(problem.blocksBy(problem.lower), 0), 0));
        while (!pending.isEmpty()) {
            final Level level = pending.pop();
            if (level.depth == MOST_LEVELS) {
                parts.add(level.part);
            } else {
                splitByTime(level);
            }
        }
    }

    /** Returns what is left to plan. */
    List<Part> parts() {
        return parts;
    }

    /** Returns the height of the blocks that are placed. */
    long height() {
        return height;
    }

    private void splitByTime(Level level) {
        final int[] blocks = level.part.blocks;
        int from = 0;
        long end = Long.MIN_VALUE;
        for (int i = 0; i < blocks.length; i++) {
            if (i > from && problem.lower[blocks[i]] >= end) {
                settle(slice(blocks, from, i), level);
                from = i;
            }
            end = Math.max(end, problem.upper[blocks[i]]);
        }
        if (from < blocks.length) {
            settle(slice(blocks, from, blocks.length), level);
        }
    }

    private static int[] slice(int[] blocks, int from, int to) {
        final int[] slice = new int[to - from];
        System.arraycopy(blocks, from, slice, 0, slice.length);
        return slice;
    }

    /** Places the blocks that overlap all others at the bottom, and looks at the rest again. */
    private void settle(int[] blocks, Level level) {
        long firstEnd = Long.MAX_VALUE;
        for (final int b : blocks) {
            firstEnd = Math.min(firstEnd, problem.upper[b]);
        }
        final long lastStart = problem.lower[blocks[blocks.length - 1]];
        final int[] rest = new int[blocks.length];
        int count = 0;
        long base = level.part.base;
        for (final int b : blocks) {
            final boolean overlapsAll = problem.lower[b] < firstEnd && problem.upper[b] > lastStart;
            if (overlapsAll && (problem.isUnaligned || blocks.length == 1)) {
                offsets[b] = Problem.roundUp(base, problem.alignment[b]);
                base = offsets[b] + problem.size[b];
                height = Math.max(height, base);
            } else {
                rest[count++] = b;
            }
        }
        if (count == blocks.length) {
            parts.add(new Part(blocks, base));
        } else if (count > 0) {
            pending.push(new Level(new Part(slice(rest, 0, count), base), level.depth + 1));
        }
    }
}
