package allocator.runtime.inspection;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Decides whether a file is to be tried again where writing has failed, as on a full disk. After a failure there is a
 * pause, of a second at first and twice as long each time; after {@value #MOST} failures in succession there is no
 * further attempt.
 *
 * <p>Attempts are made by one thread at a time, which the caller sees to; any thread may ask whether one may be made.
 */
final class WriteAttempts {
    /** The most failures in succession. */
    static final int MOST = 8;

    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(1);

    private final LongSupplier clock;
    private volatile int failures;
    private volatile long next;

    /**
     * Allows an attempt at once.
     *
     * @param clock returns the time, as {@link System#nanoTime} does
     */
    WriteAttempts(LongSupplier clock) {
        this.clock = clock;
    }

    /** Returns whether an attempt may be made now. */
    boolean mayTry() {
        return failures == 0 || (failures < MOST && clock.getAsLong() - next >= 0);
    }

    /** Records an attempt that succeeded. */
    void succeeded() {
        failures = 0;
    }

    /** Records a failed attempt. Returns what the log is to say of further ones; empty if nothing of this failure. */
    String failed() {
        final int before = failures;
        next = clock.getAsLong() + (FIRST_PAUSE << before);
        failures = before + 1;
        return before == 0
                ? "; it is tried again after 1 s at the earliest"
                : before == MOST - 1
                        ? "; this has happened " + MOST + " times: no further one is written by this environment"
                        : "";
    }
}
