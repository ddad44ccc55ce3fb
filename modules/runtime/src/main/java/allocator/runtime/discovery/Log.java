package allocator.runtime.discovery;

import allocator.provider.support.StackReserve;
import java.lang.System.Logger.Level;

/**
 * The module's one logger, {@code allocator.runtime}. What goes as planned is {@code DEBUG}, so that a program that
 * does not configure logging sees warnings only. A log that fails, for lack of heap or stack, is ignored; with little
 * stack left it is not called, since a log in which the stack ends may keep its locks. A warning ends after some
 * thousand characters, as names may have millions.
 */
public final class Log {
    private static final System.Logger LOGGER = System.getLogger("allocator.runtime");

    private Log() {}

    public static void debug(String message) {
        log(Level.DEBUG, message);
    }

    public static void warning(String message) {
        log(Level.WARNING, Causes.bounded(message));
    }

    /**
     * Logs that an operation failed, in one line; the stack trace, which may have a thousand, goes to {@code DEBUG}.
     */
    public static void failed(String operation, Object what, Throwable thrown) {
        try {
            StackReserve.touch();
            final String message = Causes.bounded(operation + " of " + what) + " failed";
            LOGGER.log(Level.WARNING, message + ": " + Causes.describe(thrown));
            LOGGER.log(Level.DEBUG, message, thrown);
        } catch (Throwable e) {
            // As below.
        }
    }

    private static void log(Level level, String message) {
        try {
            StackReserve.touch();
            LOGGER.log(level, message);
        } catch (Throwable e) {
            // A log that fails does not fail what is logged.
        }
    }
}
