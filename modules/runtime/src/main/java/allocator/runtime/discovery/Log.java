package allocator.runtime.discovery;

import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * The module's one logger, {@code allocator.runtime}. What goes as planned is {@code DEBUG}, so that a program that
 * does not configure logging sees warnings only. A log that fails does not fail what is logged. A warning ends after
 * some thousand characters, as names may have millions.
 */
public final class Log {
    private static final System.Logger LOGGER = System.getLogger("allocator.runtime");

    private Log() {}

    public static void debug(String message) {
        log(Level.DEBUG, message, null);
    }

    public static void warning(String message) {
        log(Level.WARNING, Causes.bounded(message), null);
    }

    /** Logs that an operation failed, in one line; the stack trace, maybe a thousand lines, goes to {@code DEBUG}. */
    public static void failed(String operation, Object what, Throwable thrown) {
        final String message;
        final String line;
        try {
            message = Causes.bounded(operation + " of " + what) + " failed";
            line = message + ": " + Causes.describe(thrown);
        } catch (Throwable e) {
            return; // there is no room for the line, or what it describes fails
        }
        log(Level.WARNING, line, null);
        log(Level.DEBUG, message, thrown);
    }

    private static void log(Level level, String message, @Nullable Throwable thrown) {
        try {
            LOGGER.log(level, message, thrown);
        } catch (Throwable e) {
            return; // a handler of the application may throw anything
        }
    }
}
