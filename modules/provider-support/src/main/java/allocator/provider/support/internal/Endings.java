package allocator.provider.support.internal;

import org.jspecify.annotations.Nullable;

/**
 * The ends of what a factory has created: each returns something to the device, and is tried again if it fails, so that
 * nothing is lost because a device failed once.
 *
 * <p>A factory creates an {@link End} before it releases an allocator or a stream, and runs it. An end whose action
 * throws anything is remembered, for which nothing is allocated. {@link #runAgain} tries all that failed, for instance
 * when the factory is closed.
 *
 * <p>Safe for use by several threads. Actions run without a lock of this class, also several times and at once: an
 * action returns what is left, does nothing if nothing is left, and throws if something stays.
 */
public final class Endings {
    /** The ends that failed, oldest first. */
    private @Nullable End oldest;

    private @Nullable End newest;
    private int failed;

    /** Creates an instance without ends. */
    public Endings() {}

    /** An end, which can be run any number of times. */
    public final class End {
        private final @Nullable Object subject;
        private final Runnable action;
        private @Nullable End next;
        private boolean isListed;

        private End(@Nullable Object subject, Runnable action) {
            this.subject = subject;
            this.action = action;
        }

        /** Runs the action. If it throws anything, this method throws it and {@link Endings#runAgain} tries again. */
        public void run() {
            boolean hasEnded = false;
            try {
                action.run();
                hasEnded = true;
            } finally {
                if (!hasEnded) {
                    list(this);
                }
            }
        }
    }

    /**
     * Creates an end.
     *
     * @param action returns to the device whatever it still has; may throw anything
     * @return the end, not run
     */
    public End of(Runnable action) {
        return new End(null, action);
    }

    /**
     * Creates the end of something that {@link #runAgain(Object)} names.
     *
     * @param subject what ends, compared by identity
     * @param action returns to the device whatever it still has; may throw anything
     * @return the end, not run
     */
    public End of(Object subject, Runnable action) {
        return new End(subject, action);
    }

    private synchronized void list(End end) {
        if (end.isListed) {
            return;
        }
        end.isListed = true;
        end.next = null;
        if (newest == null) {
            oldest = end;
        } else {
            newest.next = end;
        }
        newest = end;
        failed++;
    }

    private synchronized @Nullable End takeOldest() {
        final End end = oldest;
        if (end != null) {
            oldest = end.next;
            if (oldest == null) {
                newest = null;
            }
            end.next = null;
            end.isListed = false;
            failed--;
        }
        return end;
    }

    /** {@return how many ends {@link #runAgain} would run} */
    public synchronized int failed() {
        return failed;
    }

    /**
     * Runs each end that failed, once. Does nothing if none did. What fails again is remembered again; the first thing
     * thrown is thrown at the end, with the others suppressed.
     */
    public void runAgain() {
        final Failures failure = new Failures();
        for (int left = failed(); left > 0; left--) {
            final End end = takeOldest();
            if (end != null) {
                run(end, failure);
            }
        }
        failure.throwIfAny();
    }

    /**
     * Runs the end of a subject again, if it failed. If it fails once more, it is remembered again.
     *
     * @param subject what ends
     * @return whether its end had failed
     */
    public boolean runAgain(Object subject) {
        final End end = take(subject);
        if (end == null) {
            return false;
        }
        end.run();
        return true;
    }

    @SuppressWarnings("ReferenceEquality") // what a foreign equals says does not matter
    private synchronized @Nullable End take(Object subject) {
        for (int left = failed; left > 0; left--) {
            final End end = takeOldest();
            if (end == null || end.subject == subject) {
                return end;
            }
            list(end);
        }
        return null;
    }

    /** Runs an end that was taken from the list. It is listed again once: it may be another thread's after that. */
    private void run(End end, Failures failure) {
        try {
            end.action.run();
        } catch (Throwable e) {
            list(end);
            failure.add(e);
        }
    }
}
