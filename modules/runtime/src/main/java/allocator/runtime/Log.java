package allocator.runtime;

import java.lang.System.Logger.Level;

/** The module's one logger, {@code allocator.runtime}. */
final class Log {
    private static final System.Logger LOGGER = System.getLogger("allocator.runtime");

    private Log() {}

    static void info(String message) {
        LOGGER.log(Level.INFO, message);
    }

    static void debug(String message) {
        LOGGER.log(Level.DEBUG, message);
    }

    static void warning(String message) {
        LOGGER.log(Level.WARNING, message);
    }

    static void warning(String message, Throwable thrown) {
        LOGGER.log(Level.WARNING, message, thrown);
    }
}
