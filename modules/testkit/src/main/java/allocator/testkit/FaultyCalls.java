package allocator.testkit;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides which call of a double throws what: one call, or all from one on. A double passes the name of each call to
 * {@link #accept} before it does anything, so that a call that fails has changed nothing. Safe for use by several
 * threads.
 */
public final class FaultyCalls implements Consumer<String> {
    private long calls;
    private long failures;
    private long first;
    private boolean isForGood;
    private boolean isSuspended;
    private @Nullable Supplier<? extends Throwable> thrown;

    /** Creates an instance that fails no call. */
    public FaultyCalls() {}

    /**
     * Counts a call, and throws if it is to fail.
     *
     * @param operation the name of the call
     */
    @Override
    public void accept(String operation) {
        final Throwable failure = failure();
        if (failure != null) {
            Faults.<RuntimeException>sneak(failure);
        }
    }

    private synchronized @Nullable Throwable failure() {
        if (isSuspended) {
            return null;
        }
        calls++;
        if (thrown == null || calls < first || (calls > first && !isForGood)) {
            return null;
        }
        failures++;
        return thrown.get();
    }

    /**
     * Makes one call fail, or all from that one on. Replaces an earlier choice.
     *
     * @param number which call fails, from 1, counted since the beginning
     * @param forGood whether later calls fail as well, until {@link #stop}
     * @param failure what they throw, checked or not
     */
    public synchronized void failAt(long number, boolean forGood, Supplier<? extends Throwable> failure) {
        first = number;
        isForGood = forGood;
        thrown = failure;
    }

    /** Makes no further call fail. */
    public synchronized void stop() {
        thrown = null;
    }

    /**
     * Runs an action whose calls neither fail nor count.
     *
     * @param action the action
     * @param <T> type of its result
     * @return what it returns
     */
    public <T> T without(Supplier<T> action) {
        suspend(true);
        try {
            return action.get();
        } finally {
            suspend(false);
        }
    }

    private synchronized void suspend(boolean suspended) {
        isSuspended = suspended;
    }

    /**
     * Returns the number of calls so far.
     *
     * @return calls, failed ones included
     */
    public synchronized long calls() {
        return calls;
    }

    /**
     * Returns the number of calls that failed so far.
     *
     * @return calls that were made to fail
     */
    public synchronized long failures() {
        return failures;
    }
}
