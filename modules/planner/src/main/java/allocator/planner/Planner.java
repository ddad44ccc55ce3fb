package allocator.planner;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import allocator.planner.search.Effort;
import allocator.planner.search.Problem;
import allocator.planner.search.Solver;
import java.time.Duration;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * Plans memory from lifetimes: places blocks at fixed offsets, in as little memory as possible or in a given capacity.
 *
 * <p>A fast pass gives a first plan, in a fraction of a second for 100,000 blocks. If that is not proved to be the
 * best, or exceeds the capacity, greedy orders, a search with proof and local changes improve it until it is, or until
 * a limit is reached. The best plan so far is returned in every case.
 *
 * <p>Immutable, and safe for use by several threads. {@link #plan} does all work in the calling thread.
 */
public final class Planner {
    private final long capacity;
    private final Duration timeLimit;
    private final long stepLimit;
    private final BooleanSupplier cancelled;

    private Planner(Builder builder) {
        capacity = builder.capacity;
        timeLimit = builder.timeLimit;
        stepLimit = builder.stepLimit;
        cancelled = builder.cancelled;
    }

    /** {@return a new builder: least capacity, 30 seconds, no limit of steps} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Plans an instance.
     *
     * <p>The plan is the same for the same instance, capacity and limit of steps, on every machine, unless the time
     * limit is reached or the work is cancelled. Without a capacity the search ends once the height is proved to be the
     * least. With a capacity it ends once the plan {@linkplain Plan#fits fits}, or once it is proved that none does
     * ({@link Plan#shortfall} is above 0). If a limit comes first, the plan may exceed the capacity.
     *
     * @param instance the blocks
     * @return the best plan found
     * @throws IllegalArgumentException if the blocks that live at one time need more than 2<sup>62</sup> bytes
     */
    public Plan plan(Instance instance) {
        final int blocks = instance.size();
        final long[] lower = new long[blocks];
        final long[] upper = new long[blocks];
        final long[] byteSize = new long[blocks];
        final long[] byteAlignment = new long[blocks];
        for (int block = 0; block < blocks; block++) {
            final Lifetime lifetime = instance.lifetime(block);
            lower[block] = lifetime.lower();
            upper[block] = lifetime.upper();
            byteSize[block] = lifetime.byteSize();
            byteAlignment[block] = lifetime.byteAlignment();
        }
        final Effort effort = new Effort(stepLimit, timeLimit, cancelled);
        final Problem problem = new Problem(lower, upper, byteSize, byteAlignment);
        final Solver solver = new Solver(problem, capacity, effort);
        solver.run();
        return new Plan(problem.bytes(solver.offsets()), solver.height(), solver.lowerBound(), effort.steps());
    }

    /** Builds a planner. Not safe for use by several threads. */
    public static final class Builder {
        private long capacity;
        private Duration timeLimit = Duration.ofSeconds(30);
        private long stepLimit = Long.MAX_VALUE;
        private BooleanSupplier cancelled = () -> false;

        private Builder() {}

        /**
         * Accepts every plan within a capacity, instead of looking for the least height.
         *
         * @param byteSize bytes, at least 1
         * @return this builder
         * @throws IllegalArgumentException if {@code byteSize} is less than 1
         */
        public Builder capacity(long byteSize) {
            if (byteSize < 1) {
                throw new IllegalArgumentException("capacity " + byteSize + " is less than 1");
            }
            capacity = byteSize;
            return this;
        }

        /**
         * Limits the time. A first plan is always made, in a fraction of a second for 100,000 blocks; whatever follows
         * ends within milliseconds of the limit.
         *
         * @param limit the limit, not negative
         * @return this builder
         * @throws IllegalArgumentException if {@code limit} is negative
         */
        public Builder timeLimit(Duration limit) {
            if (limit.isNegative()) {
                throw new IllegalArgumentException("time limit " + limit + " is negative");
            }
            timeLimit = limit;
            return this;
        }

        /**
         * Limits the work of the search.
         *
         * @param steps how often it may place or raise a block; 0 is the first pass alone
         * @return this builder
         * @throws IllegalArgumentException if {@code steps} is negative
         */
        public Builder stepLimit(long steps) {
            if (steps < 0) {
                throw new IllegalArgumentException("step limit " + steps + " is negative");
            }
            stepLimit = steps;
            return this;
        }

        /**
         * Makes the work cancellable.
         *
         * @param isCancelled returns whether to end with the best plan so far; called often, by the planning thread
         * @return this builder
         */
        public Builder cancelledBy(BooleanSupplier isCancelled) {
            cancelled = Objects.requireNonNull(isCancelled);
            return this;
        }

        /** {@return a planner with the builder's settings} */
        public Planner build() {
            return new Planner(this);
        }
    }
}
