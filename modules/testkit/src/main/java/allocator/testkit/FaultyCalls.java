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

    /** Counts a call, and throws if it is to fail. */
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
     * Makes one call fail, or all from that one on until {@link #stop}, by its number from 1 since the beginning, with
     * anything, checked or not. Replaces an earlier choice.
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

    /** Runs an action whose calls neither fail nor count. */
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

    /** Returns the number of calls so far, failed ones included. */
    public synchronized long calls() {
        return calls;
    }

    /** Returns the number of calls so far that were made to fail. */
    public synchronized long failures() {
        return failures;
    }
}
