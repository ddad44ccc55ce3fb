package allocator.planner.search;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One part: its best plan so far, and its lower bound. */
final class PartSolver {
    /** The most memberships of blocks in sections, and overlapping pairs, for which there is a search: some 500 MB. */
    private static final long MOST_ENTRIES = 1L << 25;

    /** The most overlapping pairs with which the sweep is among the fast heuristics: some 0.3 s. */
    private static final long MOST_SWEPT = 1L << 26;

    /** The steps of the first attempt beyond one for each block. Each round doubles all. */
    private static final int SPARE_STEPS = 1000;

    private final Part part;
    private final Sections sections;
    private final Effort effort;
    private final Map<Order, int[]> ranks = new EnumMap<>(Order.class);
    private @Nullable Search search;
    private long bound;
    private long height = Long.MAX_VALUE;
    private long[] offsets = new long[0];
    private long stepsPerAttempt;

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
        if (isWorthTrying(goal) && (sections.overlaps() <= MOST_SWEPT || !effort.isOver())) {
            accept(Sweep.place(sections, ranks(Order.EARLIEST_LONGEST), effort));
        }
        for (final Order order : new Order[] {Order.LARGEST_LONGEST, Order.MOST_AREA}) {
            if (isWorthTrying(goal)) {
                accept(Skyline.place(sections, ranks(order)));
            }
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

    boolean isSearchable() {
        return sections.memberships() <= MOST_ENTRIES && sections.overlaps() <= MOST_ENTRIES;
    }

    /**
     * Looks for a plan up to a height, and if none is found, for one between that and the best so far. The next call
     * works twice as long.
     */
    void improve(long goal) {
        final long target = goal - part.base;
        if (search == null) {
            fit(target);
        }
        if (search != null && height > target && !attempt(target) && height - target > 1) {
            attempt(target + (height - target) / 2);
        }
        stepsPerAttempt = Math.max(stepsPerAttempt, 2 * stepsPerAttempt);
    }

    /**
     * Fits blocks into gaps, until a plan is as low as is worth having; prepares the search unless the effort is cut.
     */
    private void fit(long target) {
        final int[][] members = sections.members(effort);
        final int[][] neighbours = effort.isCut() ? new int[0][] : sections.neighbours(members, effort);
        if (effort.isCut()) {
            return;
        }
        for (final Order order : new Order[] {Order.LONGEST_LARGEST, Order.LARGEST_LONGEST}) {
            if (height > target) {
                accept(FirstFit.place(sections, neighbours, ranks(order), effort));
            }
        }
        search = new Search(sections, members, neighbours, effort);
    }

    /** Returns whether the question is decided, or the effort is over. */
    private boolean attempt(long capacity) {
        final Search search = Objects.requireNonNull(this.search);
        for (final Strategy strategy : Strategy.ALL) {
            switch (search.run(capacity, strategy, ranks(strategy.order()), stepsPerAttempt)) {
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
                    if (effort.isOver()) {
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
