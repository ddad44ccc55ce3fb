package allocator.planner.search;

/** Where in time the search goes on: which section it looks at. Each chooses the section with the least key. */
enum Focus {
    /** The lowest floor: all of time grows together. */
    LOWEST,
    /** The least slack. */
    TIGHTEST,
    /** The most that is still to be placed. */
    HIGHEST_DEMAND,
    /** The section that failed last, otherwise the lowest floor. */
    LAST_FAILURE_LOWEST,
    /** The section that failed last, otherwise the most that is still to be placed. */
    LAST_FAILURE_HIGHEST_DEMAND,
    /** The most that is still to be placed, and the most failures so far. */
    FAILURES_HIGHEST_DEMAND;

    /** What a failure weighs against units of memory. */
    private static final long SCALE = 1_000_000;

    /**
     * Returns the key of a section.
     *
     * @param floor the least offset that is left in it
     * @param slack what its blocks leave of the capacity
     * @param isLastFailure whether it failed last
     * @param failures how often it failed
     */
    long key(long floor, long slack, boolean isLastFailure, long failures) {
        return switch (this) {
            case LOWEST -> floor;
            case TIGHTEST -> slack;
            case HIGHEST_DEMAND -> floor + slack;
            case LAST_FAILURE_LOWEST -> isLastFailure ? -1 : floor;
            case LAST_FAILURE_HIGHEST_DEMAND -> isLastFailure ? -1 : floor + slack;
            case FAILURES_HIGHEST_DEMAND -> (long) ((double) (floor + slack + 1) * SCALE / (1 + failures));
        };
    }
}
