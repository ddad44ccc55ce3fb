package allocator.conformance.subject;

import allocator.conformance.ConformanceSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.function.Executable;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** Assertions whose messages explain a failure to readers who do not know the kit. */
public final class Expect {
    private static final int FRAMES = 8;

    /** A chain of causes that is longer is cut; it may go in a circle. */
    private static final int MOST_CAUSES = 16;

    /** A message that is longer is cut. */
    private static final int LONGEST_MESSAGE = 1 << 14;

    private static final String KIT = ConformanceSettings.class.getPackageName() + ".";

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
    public static Skip skip(String format, @Nullable Object... arguments) {
        throw new Skip(String.format(Locale.ROOT, format, arguments));
    }

    /** Thrown where the kit itself skips a test; a provider that aborts tests cannot be taken for it. */
    public static final class Skip extends TestAbortedException {
        private static final long serialVersionUID = 1L;

        private Skip(String message) {
            super(message);
        }
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

    /** Returns the simple name of an exception and its message, which may be of any length or throw. */
    public static String describe(Throwable thrown) {
        final String simple = thrown.getClass().getSimpleName();
        final String name = simple.isEmpty() ? thrown.getClass().getName() : simple;
        try {
            final String message = thrown.getMessage();
            return message == null ? name : name + " (" + cut(message, LONGEST_MESSAGE) + ")";
        } catch (Throwable e) {
            return name + " (its message cannot be read: " + e.getClass().getSimpleName() + ")";
        }
    }

    /** Returns a text, or its beginning if it is longer than {@code most} characters. */
    public static String cut(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most) + " ...";
    }

    /** Returns what was thrown and its causes, at most so many; a provider may throw what has itself as its cause. */
    public static List<Throwable> causes(Throwable thrown) {
        final List<Throwable> causes = new ArrayList<>();
        try {
            for (Throwable next = thrown; next != null && causes.size() < MOST_CAUSES; next = next.getCause()) {
                causes.add(next);
            }
        } catch (Throwable _) {
            // The rest cannot be read.
        }
        return causes;
    }

    /**
     * Returns what was thrown if it can be the cause of a failure, which others print: if its methods do not throw and
     * its causes end. If not, returns a cause that describes it.
     */
    public static Throwable sound(Throwable thrown) {
        try {
            final List<Throwable> causes = causes(thrown);
            if (causes.size() < MOST_CAUSES && causes.getLast().getCause() == null) {
                for (final Throwable cause : causes) {
                    Objects.requireNonNull(cause.toString());
                    Objects.requireNonNull(cause.getStackTrace());
                }
                return thrown;
            }
        } catch (Throwable _) {
            // One of its methods throws.
        }
        return new IllegalStateException(describe(thrown));
    }

    /** Returns the provider's frames of a failure, a few lines; empty if an assertion of the kit failed. */
    public static String origin(Throwable failure) {
        final Optional<Throwable> thrown = causes(failure).stream()
                .filter(cause -> !(cause instanceof AssertionFailedError))
                .findFirst();
        if (thrown.isEmpty()) {
            return "";
        }
        final Throwable origin = sound(thrown.get());
        final StringBuilder text = new StringBuilder("\n").append(cut(origin.toString(), LONGEST_MESSAGE));
        Arrays.stream(origin.getStackTrace())
                .takeWhile(frame -> !frame.getClassName().startsWith(KIT))
                .limit(FRAMES)
                .forEach(frame -> text.append("\n    at ").append(frame));
        return text.toString();
    }

    /**
     * Skips the test where the virtual machine says that its heap is full; a provider that says so of its device, or of
     * other memory, has failed.
     */
    public static Skip heapIsFull(OutOfMemoryError error) {
        final String message = String.valueOf(error.getMessage());
        if (message.equals("Java heap space")
                || message.equals("Requested array size exceeds VM limit")
                || message.startsWith("GC overhead limit exceeded")) {
            return skip("the Java heap was full before the device was; -Xmx gives the provider's tables more");
        }
        throw error;
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
