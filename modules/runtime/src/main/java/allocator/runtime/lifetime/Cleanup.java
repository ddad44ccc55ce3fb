package allocator.runtime.lifetime;

import org.jspecify.annotations.Nullable;

/**
 * The failures of steps that are all attempted although some fail. The first failure is the one to throw; the others
 * are suppressed in it. Not for use by several threads.
 */
public final class Cleanup {
    private @Nullable Throwable first;

    /** Starts without failures. */
    public Cleanup() {}

    /**
     * Runs a step and records its failure.
     *
     * @param step the step
     */
    public void attempt(Runnable step) {
        try {
            step.run();
        } catch (Throwable e) {
            add(e);
        }
    }

    /**
     * Records a failure. Never throws.
     *
     * @param failure the failure
     */
    public void add(Throwable failure) {
        if (first == null) {
            first = failure;
        } else {
            suppress(first, failure);
        }
    }

    /**
     * Returns the first failure.
     *
     * @return the failure, {@code null} if there was none
     */
    public @Nullable Throwable first() {
        return first;
    }

    /** Throws the first failure, if there was one. */
    public void throwIfAny() {
        if (first != null) {
            throwUnchecked(first);
        }
    }

    /**
     * Adds the failures to an exception that is about to be thrown. Never throws.
     *
     * @param thrown the exception
     */
    public void suppressIn(Throwable thrown) {
        if (first != null) {
            suppress(thrown, first);
        }
    }

    /**
     * Suppresses a failure in an exception that is about to be thrown. Never throws.
     *
     * @param thrown the exception
     * @param failure the failure; nothing happens if it is the exception itself
     */
    @SuppressWarnings("ReferenceEquality") // an exception may be thrown twice, but not be suppressed by itself
    public static void suppress(Throwable thrown, Throwable failure) {
        if (thrown == failure) {
            return;
        }
        try {
            thrown.addSuppressed(failure);
        } catch (Throwable e) {
            // There is no room for it; the first failure is the one to report.
        }
    }

    /** Throws what a provider threw, whether its methods declare it or not. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwUnchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
