package allocator.provider.support.internal;

import org.jspecify.annotations.Nullable;

/**
 * Collects failures of any kind, so that all work is attempted; throws the first one at the end, with the others
 * suppressed.
 *
 * <p>Not safe for use by several threads.
 */
public final class Failures {
    private static final String NO_MESSAGE = "the message of the exception cannot be read";

    private @Nullable Throwable first;

    /** Creates an instance without a failure. */
    public Failures() {}

    /**
     * Adds a failure. If the Java heap has no room to suppress it, it is dropped.
     *
     * @param failure what was thrown, checked or not; {@code null} for nothing
     */
    public void add(@Nullable Throwable failure) {
        if (first == null) {
            first = failure;
        } else if (failure != null) {
            suppress(first, failure);
        }
    }

    /**
     * Suppresses a failure in another one, that of an action which the failure has made necessary. If the Java heap has
     * no room for that, it is dropped.
     *
     * @param first the failure to be thrown
     * @param failure the other one; nothing happens if it is the same
     */
    @SuppressWarnings("ReferenceEquality") // an exception may be thrown twice, but not be suppressed by itself
    public static void suppress(Throwable first, Throwable failure) {
        try {
            if (failure != first) {
                first.addSuppressed(failure);
            }
        } catch (OutOfMemoryError e) {
            // The first failure is the one to report.
        }
    }

    /** Runs an action and adds whatever it throws. */
    public void run(Runnable action) {
        try {
            action.run();
        } catch (Throwable e) {
            add(e);
        }
    }

    /** Throws the first failure, if there was one. */
    public void throwIfAny() {
        if (first != null) {
            throwUnchecked(first);
        }
    }

    /**
     * {@return the message of a throwable, which is foreign code and may throw anything in turn; {@code "null"} if it
     * has none, or that it cannot be read}
     */
    public static String messageOf(Throwable thrown) {
        try {
            return String.valueOf(thrown.getMessage());
        } catch (Throwable e) {
            return NO_MESSAGE;
        }
    }

    /** Describes a throwable as its {@code toString} does, or by its class if that throws anything. */
    public static String describe(Throwable thrown) {
        try {
            return String.valueOf(thrown);
        } catch (Throwable e) {
            return thrown.getClass().getName();
        }
    }

    /** Throws what an allocator or stream threw, whether its methods declare it or not. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwUnchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
