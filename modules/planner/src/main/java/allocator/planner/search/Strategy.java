package allocator.planner.search;

import java.util.List;

/** How a search proceeds. Every strategy finds a plan if there is one; they differ in how soon. */
record Strategy(Focus focus, Order order) {
    /** The strategies, in the order in which they are tried; the first five solved most of what was measured. */
    static final List<Strategy> ALL = List.of(
            new Strategy(Focus.FAILURES_HIGHEST_DEMAND, Order.LONGEST_LARGEST),
            new Strategy(Focus.LOWEST, Order.LONGEST_LARGEST),
            new Strategy(Focus.LOWEST, Order.FULLEST_LONGEST),
            new Strategy(Focus.HIGHEST_DEMAND, Order.LONGEST_LARGEST),
            new Strategy(Focus.LAST_FAILURE_LOWEST, Order.FULLEST_LONGEST),
            new Strategy(Focus.TIGHTEST, Order.LARGEST_LONGEST),
            new Strategy(Focus.HIGHEST_DEMAND, Order.MOST_AREA),
            new Strategy(Focus.TIGHTEST, Order.MOST_SECTIONS),
            new Strategy(Focus.LAST_FAILURE_HIGHEST_DEMAND, Order.MOST_SECTIONS),
            new Strategy(Focus.LAST_FAILURE_LOWEST, Order.MOST_AREA),
            new Strategy(Focus.FAILURES_HIGHEST_DEMAND, Order.MOST_SECTIONS),
            new Strategy(Focus.HIGHEST_DEMAND, Order.LARGEST_LONGEST),
            new Strategy(Focus.LOWEST, Order.MOST_SECTIONS));
}
