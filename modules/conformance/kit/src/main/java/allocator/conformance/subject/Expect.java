package allocator.conformance.subject;

import allocator.conformance.AllocatorConformance;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.function.Executable;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** Assertions whose messages explain a failure to readers who do not know the kit. */
public final class Expect {
    private static final int FRAMES = 8;
    private static final String KIT = AllocatorConformance.class.getPackageName() + ".";

    private Expect() {}

    /** Fails with the formatted message unless the claim holds. */
    @SuppressWarnings("AnnotateFormatMethod") // its annotation would be one more library
    public static void that(boolean claim, String format, @Nullable Object... arguments) {
        if (!claim) {
            throw new AssertionFailedError(String.format(Locale.ROOT, format, arguments));
        }
    }

    /** A failure that was caused by something thrown. */
    public static AssertionFailedError failure(String message, Throwable cause) {
        return new AssertionFailedError(message, cause);
    }

    /** Skips the test, with the reason for a person. */
    @SuppressWarnings("AnnotateFormatMethod") // as above
    public static TestAbortedException skip(String format, @Nullable Object... arguments) {
        throw new TestAbortedException(String.format(Locale.ROOT, format, arguments));
    }

    /**
     * Makes a call that must be rejected, and returns the exception it throws. Fails unless that is of the given type.
     *
     * @param type the required exception
     * @param call describes the call in messages
     * @param body makes the call
     */
    public static <T extends Throwable> T rejection(Class<T> type, String call, Executable body) {
        try {
            body.execute();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            throw new AssertionFailedError(
                    call + " threw " + describe(thrown) + " instead of " + type.getSimpleName(), thrown);
        }
        throw new AssertionFailedError(call + " was accepted; it must be rejected with " + type.getSimpleName());
    }

    /** Returns the simple name of an exception and its message. */
    public static String describe(Throwable thrown) {
        final String message = thrown.getMessage();
        return thrown.getClass().getSimpleName() + (message == null ? "" : " (" + message + ")");
    }

    /** Returns the provider's frames of a failure, a few lines; empty if an assertion of the kit failed. */
    public static String origin(Throwable failure) {
        Throwable thrown = failure;
        while (thrown instanceof AssertionFailedError && thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        if (thrown instanceof AssertionFailedError) {
            return "";
        }
        final StringBuilder text = new StringBuilder("\n").append(thrown);
        Arrays.stream(thrown.getStackTrace())
                .takeWhile(frame -> !frame.getClassName().startsWith(KIT))
                .limit(FRAMES)
                .forEach(frame -> text.append("\n    at ").append(frame));
        return text.toString();
    }

    /** Returns whether two references denote the same instance. */
    @SuppressWarnings("ReferenceEquality") // identity is intended
    public static boolean same(@Nullable Object one, @Nullable Object other) {
        return one == other;
    }

    public static String hex(long address) {
        return "0x" + Long.toHexString(address);
    }
}
