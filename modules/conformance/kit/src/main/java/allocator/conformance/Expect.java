package allocator.conformance;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.function.Executable;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** What tests expect of a provider, said so that a stranger understands the failure. */
final class Expect {
    private static final int FRAMES = 8;

    private Expect() {}

    /** Fails with the message, formatted, unless the claim holds. */
    @SuppressWarnings("AnnotateFormatMethod") // its annotation would be one more library
    static void that(boolean claim, String format, @Nullable Object... arguments) {
        if (!claim) {
            throw new AssertionFailedError(String.format(format, arguments));
        }
    }

    /** A failure that was caused by something thrown. */
    static AssertionFailedError broken(String message, Throwable cause) {
        return new AssertionFailedError(message, cause);
    }

    /** Skips the test, with the reason for a person. */
    @SuppressWarnings("AnnotateFormatMethod") // as above
    static TestAbortedException skip(String format, @Nullable Object... arguments) {
        throw new TestAbortedException(String.format(format, arguments));
    }

    /** Calls what must be refused, and gives the refusal back. */
    static <T extends Throwable> T refusal(Class<T> type, String call, Executable body) {
        try {
            body.execute();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            throw new AssertionFailedError(
                    call + " threw " + describe(thrown) + " instead of " + type.getSimpleName(), thrown);
        }
        throw new AssertionFailedError(call + " was accepted; it must be refused with " + type.getSimpleName());
    }

    static String describe(Throwable thrown) {
        final String message = thrown.getMessage();
        return thrown.getClass().getSimpleName() + (message == null ? "" : " (" + message + ")");
    }

    /** Where in the provider a failure came from, in a few lines; empty if the kit itself found fault. */
    static String origin(Throwable failure) {
        Throwable thrown = failure;
        while (thrown instanceof AssertionFailedError && thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        if (thrown instanceof AssertionFailedError) {
            return "";
        }
        final StringBuilder text = new StringBuilder("\n").append(thrown);
        Arrays.stream(thrown.getStackTrace())
                .takeWhile(frame -> !frame.getClassName().startsWith(Expect.class.getPackageName() + "."))
                .limit(FRAMES)
                .forEach(frame -> text.append("\n    at ").append(frame));
        return text.toString();
    }

    /** Whether two references name one instance. */
    @SuppressWarnings("ReferenceEquality") // the identity is what is asked for
    static boolean same(@Nullable Object one, @Nullable Object other) {
        return one == other;
    }

    static String hex(long address) {
        return "0x" + Long.toHexString(address);
    }
}
