package allocator.planner.search;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** One part: its best plan so far, and its lower bound. */
final class PartSolver {
    /** The most memberships of blocks in sections, and overlapping pairs, for which there is a search: some 500 MB. */
    private static final long MOST_ENTRIES = 1L << 25;

    /** The most overlapping pairs with which the sweep is among the fast heuristics: some 0.3 s. */
    private static final long MOST_SWEPT = 1L << 26;

    /** The steps of the first attempt beyond one for each block. Each round doubles all. */
    private static final int SPARE_STEPS = 1000;

    /** The work of the first attempt: some seconds. Each round doubles it. */
    private static final long FIRST_WORK = 1L << 31;

    private final Part part;
    private final Sections sections;
    private final Effort effort;
    private final Map<Order, int[]> ranks = new EnumMap<>(Order.class);
    private @Nullable Search search;
    private @Nullable Lift lift;
    private boolean isBegun;
    private int inVain;
    private long bound;
    private long height = Long.MAX_VALUE;
    private long[] offsets = new long[0];
    private long stepsPerAttempt;
    private long workPerAttempt = FIRST_WORK;

    PartSolver(Problem problem, Part part, Effort effort) {
        this.part = part;
        this.effort = effort;
        sections = new Sections(problem, part.blocks);
        bound = sections.bound();
        stepsPerAttempt = sections.blocks() + (long) SPARE_STEPS;
    }

    /** Makes first plans by the fast heuristics, until one is as low as is worth having. */
    void begin(long goal) {
        accept(Skyline.place(sections, ranks(Order.LONGEST_LARGEST)));
        sweep(goal, ranks(Order.EARLIEST_LONGEST), false);
        // The blocks are in the order of their beginnings.
        final int[] earliest = IntStream.range(0, part.blocks.length).toArray();
        sweep(goal, earliest, false);
        sweep(goal, earliest, true);
        for (final Order order : new Order[] {Order.LARGEST_LONGEST, Order.MOST_AREA}) {
            if (isWorthTrying(goal)) {
                accept(Skyline.place(sections, ranks(order)));
            }
        }
    }

    private void sweep(long goal, int[] ranks, boolean isBest) {
        if (isWorthTrying(goal) && (sections.overlaps() <= MOST_SWEPT || !effort.isOver())) {
            accept(Sweep.place(sections, ranks, isBest, effort));
        }
    }

    private boolean isWorthTrying(long goal) {
        return height > Math.max(bound, goal - part.base) && effort.spend(16L * part.blocks.length);
    }

    private int[] ranks(Order order) {
        return ranks.computeIfAbsent(order, key -> key.ranks(sections));
    }

    /** Keeps a plan that is lower than the best so far; none has no offsets. */
    private void accept(long[] found) {
        if (found.length == 0) {
            return;
        }
        final long foundHeight = Skyline.height(sections, found);
        if (foundHeight < height) {
            height = foundHeight;
            offsets = found;
        }
    }

    /** Returns the height of the best plan, above what lies below the part. */
    long height() {
        return height > Long.MAX_VALUE - part.base ? Long.MAX_VALUE : part.base + height;
    }

    /** Returns the lower bound, above what lies below the part. */
    long bound() {
        return part.base + bound;
    }

    /**
     * Looks for a plan up to a height, and if none is found, for one between that and the best so far: by greedy orders
     * at first, then by search and by lifting, which get equal work. The next call works twice as long.
     */
    void improve(long goal) {
        final long target = goal - part.base;
        if (!isBegun) {
            isBegun = true;
            fit(target);
        }
        if (search == null) {
            lift(target, workPerAttempt);
        } else if (height > target && !attempt(target) && height - target > 1) {
            attempt(target + (height - target) / 2);
        }
        stepsPerAttempt = Math.max(stepsPerAttempt, 2 * stepsPerAttempt);
        workPerAttempt = Math.max(workPerAttempt, 2 * workPerAttempt);
    }

    /**
     * Fits blocks into gaps, until a plan is as low as is worth having; prepares the search if there is one, unless the
     * effort is cut.
     */
    private void fit(long target) {
        final boolean isSearchable = sections.memberships() <= MOST_ENTRIES && sections.overlaps() <= MOST_ENTRIES;
        for (final Order order : new Order[] {Order.LARGEST_LONGEST, Order.LONGEST_LARGEST}) {
            if (height > target && (isSearchable || order == Order.LARGEST_LONGEST)) {
                accept(Greedy.place(sections, ranks(order), height, effort));
            }
        }
        if (isSearchable) {
            final int[][] members = sections.members(effort);
            final int[][] neighbours = effort.isCut() ? new int[0][] : sections.neighbours(members, effort);
            search = effort.isCut() ? null : new Search(sections, members, neighbours, effort);
        }
    }

    /** Lifts for an amount of work, the less the more often in vain. */
    private void lift(long target, long work) {
        if (lift == null || lift.height() > height) {
            lift = new Lift(sections, offsets, effort);
        }
        final long before = height;
        lift.run(target, search == null ? work : work / (1 + inVain));
        accept(lift.offsets());
        inVain = height < before ? 0 : inVain + 1;
    }

    /** Returns whether the question is decided, or the effort is over. */
    private boolean attempt(long capacity) {
        final Search search = Objects.requireNonNull(this.search);
        for (final Strategy strategy : Strategy.ALL) {
            final long before = effort.work();
            switch (search.run(capacity, strategy, ranks(strategy.order()), stepsPerAttempt, workPerAttempt)) {
                case FOUND -> {
                    accept(search.offsets());
                    return true;
                }
                case IMPOSSIBLE -> {
                    // Without any failure for lack of room there would be a plan.
                    bound = Math.max(bound, capacity + search.leastExcess());
                    return true;
                }
                case UNDECIDED -> {
                    lift(capacity, effort.work() - before);
                    if (height <= capacity || effort.isOver()) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /** Writes the best plan. */
    void write(long[] all) {
        for (int i = 0; i < offsets.length; i++) {
            all[part.blocks[i]] = part.base + offsets[i];
        }
    }
}
