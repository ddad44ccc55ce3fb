package allocator.planner.search;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Lowers a plan around the blocks that stick out above a goal: takes out the blocks of a window of time and places them
 * greedily in some order; then again and again with those that still stick out placed earlier. The lowest is kept.
 *
 * <p>Windows of all sizes get equal work, from a few blocks to all. Each next attempt takes another order, and after
 * all orders shuffles them more. The goal is nearer to the target than the height, and retreats when no window reaches
 * it.
 */
final class Lift {
    /** The blocks on either side of the one that sticks out, in the smallest window. */
    private static final int LEAST_REACH = 32;

    /** Each larger window has this many times as many, as a power of two. */
    private static final int REACH_BITS = 2;

    /** How often in a row a window is placed without becoming lower, and how often at all. */
    private static final int MOST_FAILED = 4;

    private static final int MOST_PLACED = 16;

    /** A part of the window's blocks: how far one moves in a shuffled order, times the number of the shuffle. */
    private static final int SHUFFLE = 64;

    /** The work of an attempt for each block of the window, as a power of two, until it is known. */
    private static final int WORK_BITS = 15;

    private static final Order[] ORDERS = Order.values();

    private final Sections sections;
    private final Effort effort;
    private final Greedy greedy;
    private final Map<Order, int[]> ranks = new EnumMap<>(Order.class);
    private final SplittableRandom random = new SplittableRandom(1);

    /** For each size of windows, the attempts and the work so far, beginning with what the first attempt may cost. */
    private final int[] attempts;

    private final long[] work;
    private long height;
    private long target;
    private long goal;

    /** The block to look at, and how many before it in a row are below the goal. */
    private int next;

    private int below;

    /** Begins with a plan. */
    Lift(Sections sections, long[] offsets, Effort effort) {
        this.sections = sections;
        this.effort = effort;
        greedy = new Greedy(sections, effort);
        for (int b = 0; b < offsets.length; b++) {
            greedy.placeAt(b, offsets[b]);
        }
        height = Skyline.height(sections, offsets);
        goal = height;
        int levels = 1;
        while (reach(levels - 1) < offsets.length) {
            levels++;
        }
        attempts = new int[levels];
        work = new long[levels];
        Arrays.setAll(work, level -> (long) reach(level) << WORK_BITS);
    }

    private static int reach(int level) {
        return LEAST_REACH << (REACH_BITS * level);
    }

    /** Returns the height of the plan, as last looked at. */
    long height() {
        return height;
    }

    /** Returns the offsets of the plan. */
    long[] offsets() {
        return greedy.offsets.clone();
    }

    /** Works until the plan is as low as a target, for an amount of work, or until the effort is over. */
    void run(long target, long mostWork) {
        this.target = target;
        final int blocks = sections.blocks();
        final long end = effort.work() + mostWork;
        goal = Math.min(goal, target + (height - target) / 4 * 3);
        while (height > target && effort.work() < end && effort.spend(1) && !effort.isOutOfSteps()) {
            if (below == blocks) {
                effort.spend(blocks);
                height = Skyline.height(sections, greedy.offsets);
                goal = target + (height - target) / 4 * 3;
                below = 0;
            } else if (greedy.offsets[next] + sections.size[next] <= goal) {
                next = next + 1 == blocks ? 0 : next + 1;
                below++;
            } else {
                below = 0;
                attempt();
            }
        }
    }

    /** Lowers the window around the next block, of the size that has had the least work. */
    private void attempt() {
        int level = 0;
        for (int l = 1; l < work.length; l++) {
            level = work[l] < work[level] ? l : level;
        }
        final long before = effort.work();
        final int[] window = window(next, reach(level));
        final int attempt = attempts[level]++;
        final boolean isLower =
                lower(window, ordered(window, attempt % (ORDERS.length + 1), attempt / (ORDERS.length + 1)));
        if (!isLower && level == work.length - 1) {
            goal += (height - goal) / 2;
        }
        work[level] += effort.work() - before;
    }

    /** Returns the blocks that begin and end between those that begin some blocks before and after one. */
    private int[] window(int block, int reach) {
        final int start = sections.from[Math.max(0, block - reach)];
        final int last = block + reach < sections.blocks() ? sections.from[block + reach] : sections.count;
        final int end = Math.max(sections.to[block], last);
        int from = Math.max(0, block - reach);
        while (from > 0 && sections.from[from - 1] == start) {
            from--;
        }
        int[] window = new int[2 * LEAST_REACH];
        int count = 0;
        for (int b = from; b < sections.blocks() && sections.from[b] < end; b++) {
            if (sections.to[b] <= end) {
                window = count == window.length ? Arrays.copyOf(window, 2 * count) : window;
                window[count++] = b;
            }
        }
        return Arrays.copyOf(window, count);
    }

    /** Returns blocks in an order, the last of which is that of their offsets, shuffled so many times. */
    private int[] ordered(int[] blocks, int order, int shuffles) {
        final long[] keys = new long[blocks.length];
        if (order < ORDERS.length) {
            final int[] all = ranks.computeIfAbsent(ORDERS[order], key -> key.ranks(sections));
            Arrays.setAll(keys, i -> all[blocks[i]]);
        } else {
            Arrays.setAll(keys, i -> greedy.offsets[blocks[i]]);
        }
        final int[] ordered = sorted(blocks, keys);
        if (shuffles > 0) {
            final long most = 1 + (long) blocks.length * shuffles / SHUFFLE;
            Arrays.setAll(keys, i -> i + random.nextLong(most));
            return sorted(ordered, keys);
        }
        return ordered;
    }

    private static int[] sorted(int[] blocks, long[] keys) {
        return Arrays.stream(Ranking.by(keys).order()).map(i -> blocks[i]).toArray();
    }

    /** Places a window until it is not above the goal, or does not become lower; returns whether it is not above. */
    private boolean lower(int[] window, int[] order) {
        int[] now = order;
        long[] lowest = offsets(window);
        long[] least = excess(window);
        int failed = 0;
        for (int i = 0; i < MOST_PLACED && failed < MOST_FAILED && least[0] > 0; i++) {
            if (!place(now)) {
                break;
            }
            final long[] excess = excess(window);
            final int sign = Arrays.compare(excess, least);
            failed = sign < 0 ? 0 : failed + 1;
            if (sign <= 0) {
                least = excess;
                lowest = offsets(window);
            }
            now = lifted(now, i == 0 || random.nextBoolean());
        }
        for (final int b : window) {
            greedy.remove(b);
        }
        for (int i = 0; i < window.length; i++) {
            greedy.placeAt(window[i], lowest[i]);
        }
        return least[0] == 0;
    }

    private long[] offsets(int[] window) {
        return Arrays.stream(window).mapToLong(b -> greedy.offsets[b]).toArray();
    }

    /** Takes blocks out and places them in their order; returns whether all, or the effort is over. */
    private boolean place(int[] order) {
        for (final int b : order) {
            greedy.remove(b);
        }
        boolean isPlaced = true;
        for (final int b : order) {
            isPlaced = isPlaced && effort.step();
            greedy.placeAt(b, isPlaced ? greedy.lowestGap(b) : 0);
        }
        return isPlaced;
    }

    /** Returns how far blocks stick out above the goal: the most, and all together. */
    private long[] excess(int[] window) {
        final long[] excess = new long[2];
        for (final int b : window) {
            final long above = Math.max(0, greedy.offsets[b] + sections.size[b] - goal);
            excess[0] = Math.max(excess[0], above);
            excess[1] += above;
        }
        return excess;
    }

    /** Returns an order in which what sticks out above the target comes first, or what does above the goal earlier. */
    private int[] lifted(int[] order, boolean isFirst) {
        final long[] keys = new long[order.length];
        for (int i = 0; i < order.length; i++) {
            final boolean isOut = greedy.offsets[order[i]] + sections.size[order[i]] > (isFirst ? target : goal);
            // Before the block whose place it takes.
            keys[i] = isOut ? 2L * (isFirst ? 0 : random.nextInt(i + 1)) : 2L * i + 1;
        }
        return sorted(order, keys);
    }
}
