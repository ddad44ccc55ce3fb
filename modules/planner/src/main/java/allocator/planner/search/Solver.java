package allocator.planner.search;

import java.util.List;

/** Plans a problem: its parts one by one, the one that needs the most first. */
public final class Solver {
    private final Problem problem;
    private final Effort effort;
    private final long[] offsets;
    private final long placedHeight;
    private final boolean isLeast;
    private final long capacity;
    private final List<PartSolver> parts;

    /** The largest height below which some part has no plan. It only rises. */
    private long bound;

    /**
     * Divides the problem.
     *
     * @param problem the blocks
     * @param capacity the bytes that suffice; 0 if the least height is wanted
     * @param effort the limits of the work
     */
    public Solver(Problem problem, long capacity, Effort effort) {
        this.problem = problem;
        this.effort = effort;
        isLeast = capacity == 0;
        this.capacity = isLeast ? 0 : problem.unitsWithin(capacity);
        offsets = new long[problem.size.length];
        final Decomposition decomposition = new Decomposition(problem, offsets);
        placedHeight = decomposition.height();
        parts = decomposition.parts().stream()
                .map(part -> new PartSolver(problem, part, effort))
                .toList();
        bound = parts.stream().mapToLong(PartSolver::bound).reduce(placedHeight, Math::max);
    }

    /** Works until the goal is reached, or the limits are. */
    public void run() {
        for (final PartSolver part : parts) {
            part.begin(Math.max(bound, capacity));
            bound = Math.max(bound, part.bound());
        }
        while (isLeast || bound <= capacity) {
            final long goal = Math.max(bound, capacity);
            effort.spend(parts.size());
            PartSolver highest = null;
            for (final PartSolver part : parts) {
                highest = highest == null || part.height() > highest.height() ? part : highest;
            }
            if (highest == null || highest.height() <= goal || effort.isOver()) {
                return;
            }
            highest.improve(goal);
            bound = Math.max(bound, highest.bound());
        }
    }

    /** {@return the offsets in units, for each block} */
    public long[] offsets() {
        parts.forEach(part -> part.write(offsets));
        return offsets.clone();
    }

    /**
     * {@return the height of the best plan in bytes}
     *
     * @throws IllegalArgumentException if it exceeds the range of {@code long}
     */
    public long height() {
        final long height = parts.stream().mapToLong(PartSolver::height).reduce(placedHeight, Math::max);
        if (height > Long.MAX_VALUE / problem.unit) {
            throw new IllegalArgumentException("no plan within " + Long.MAX_VALUE + " bytes was found");
        }
        return height * problem.unit;
    }

    /** {@return the bytes below which there is no plan} */
    public long lowerBound() {
        return bound * problem.unit;
    }
}
