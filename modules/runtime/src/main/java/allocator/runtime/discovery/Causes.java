package allocator.runtime.discovery;

import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.NativeAccess;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Describes exceptions in one line. */
public final class Causes {
    /** Causes may form a cycle. */
    private static final int MAX_CAUSES = 16;

    private static final int MAX_LENGTH = 2000;

    /** How the JDK's message begins where native access is denied; a module follows, which may have a name. */
    private static final String NATIVE_ACCESS = "Illegal native access from ";

    private Causes() {}

    /** Describes an exception and its causes. What the exception's own methods throw is caught. */
    public static String describe(Throwable thrown) {
        final StringBuilder text = new StringBuilder();
        @Nullable Throwable at = thrown;
        for (int i = 0; at != null && i < MAX_CAUSES && text.length() < MAX_LENGTH; i++) {
            text.append(i == 0 ? "" : "; caused by ").append(describeOne(at));
            at = causeOf(at);
        }
        return text.toString();
    }

    /**
     * {@return why something failed, in one line: the message of an exception that has one, otherwise a description of
     * what was thrown}
     */
    public static String reason(Throwable thrown) {
        try {
            final String message = thrown.getMessage();
            if (thrown instanceof RuntimeException && message != null) {
                return oneLine(message);
            }
        } catch (Throwable e) {
            // Described below.
        }
        return describe(thrown);
    }

    /** Describes an exception without its causes. What its own methods throw is caught. */
    public static String describeOne(Throwable thrown) {
        final String text = oneLine(Failures.describe(thrown));
        // Compiled here: if the stack ended in the initializer of this class, no allocator of the process had
        // statistics.
        final Matcher access = text.contains(NATIVE_ACCESS)
                ? Pattern.compile(NATIVE_ACCESS + "(?:module:? ([\\w.]+)|an unnamed module)")
                        .matcher(text)
                : null;
        return access != null && access.find()
                ? text + "; start java with "
                        + NativeAccess.flag(List.of(Objects.requireNonNullElse(access.group(1), "ALL-UNNAMED")))
                : text;
    }

    private static @Nullable Throwable causeOf(Throwable thrown) {
        try {
            return thrown.getCause();
        } catch (Throwable e) {
            return null;
        }
    }

    /** Joins the lines of a text, without control and format characters, and ends it after some thousand characters. */
    public static String oneLine(String text) {
        final String joined = text.strip().replaceAll("\\s*\\R\\s*", "; ").replaceAll("[\\p{Cntrl}\\p{Cf}]", " ");
        return bounded(joined);
    }

    /** Ends a text after some thousand characters, and returns it. */
    static String bounded(String text) {
        return text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH) + "...";
    }
}
