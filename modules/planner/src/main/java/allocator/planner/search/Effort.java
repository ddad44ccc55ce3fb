package allocator.planner.search;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** The work that a search may do: steps, time, and a caller that may cancel it. */
public final class Effort {
    /** The clock is read once in so many steps. */
    private static final int STEPS_PER_CHECK = 16;

    private final long stepLimit;
    private final long start = System.nanoTime();
    private final long timeLimit;
    private final BooleanSupplier cancelled;
    private long steps;
    private boolean isOver;

    /**
     * Starts the clock.
     *
     * @param stepLimit the most steps
     * @param timeLimit the most time
     * @param cancelled whether to end
     */
    public Effort(long stepLimit, Duration timeLimit, BooleanSupplier cancelled) {
        this.stepLimit = stepLimit;
        this.timeLimit = timeLimit.compareTo(Duration.ofDays(1000)) < 0 ? timeLimit.toNanos() : Long.MAX_VALUE;
        this.cancelled = cancelled;
    }

    /** Counts a step; returns whether it may be done. */
    boolean step() {
        if (isOver || steps >= stepLimit) {
            isOver = true;
            return false;
        }
        if (steps++ % STEPS_PER_CHECK == 0) {
            check();
        }
        return !isOver;
    }

    private void check() {
        isOver |= System.nanoTime() - start >= timeLimit || cancelled.getAsBoolean();
    }

    /** Returns whether no step may be done. */
    boolean isOver() {
        check();
        return isOver || steps >= stepLimit;
    }

    /**
     * Returns the steps so far.
     *
     * @return the number of steps
     */
    public long steps() {
        return steps;
    }
}
