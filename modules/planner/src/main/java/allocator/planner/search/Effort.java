package allocator.planner.search;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * The work that a search may do: steps, time, and a caller that may cancel it. Steps are what a limit of steps counts;
 * <em>work</em> is what takes time, about a nanosecond each, and decides when the clock is read.
 */
public final class Effort {
    /** The clock is read once in so much work. */
    private static final int WORK_PER_CHECK = 1 << 16;

    /** The least work of a step. */
    private static final int WORK_OF_STEP = WORK_PER_CHECK / 16;

    private final long stepLimit;
    private final long start = System.nanoTime();
    private final long timeLimit;
    private final BooleanSupplier cancelled;
    private long steps;
    private long unchecked = WORK_PER_CHECK;
    private boolean isCut;

    /** All work so far. */
    private long work;

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
        if (isCut || steps >= stepLimit) {
            return false;
        }
        steps++;
        return spend(WORK_OF_STEP);
    }

    /** Counts work; returns whether there is time for more. */
    boolean spend(long more) {
        work += more;
        unchecked += more;
        if (unchecked >= WORK_PER_CHECK) {
            check();
        }
        return !isCut;
    }

    private void check() {
        unchecked = 0;
        isCut = isCut || System.nanoTime() - start >= timeLimit || cancelled.getAsBoolean();
    }

    /** Returns the work so far. */
    long work() {
        return work;
    }

    /** Returns whether time is over, or the work is cancelled. What was begun is incomplete then. */
    boolean isCut() {
        return isCut;
    }

    /** Returns whether no step is left. */
    boolean isOutOfSteps() {
        return steps >= stepLimit;
    }

    /** Returns whether no step may be done; reads the clock. */
    boolean isOver() {
        check();
        return isCut || isOutOfSteps();
    }

    /** {@return the steps so far} */
    public long steps() {
        return steps;
    }
}
