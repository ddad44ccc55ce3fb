package allocator.cuda.memory;

import java.lang.System.Logger.Level;

/**
 * The logger of the CUDA providers, {@code allocator.cuda.memory}: {@code DEBUG} for what was found and made, and for
 * each failed call of the driver; {@code WARNING} for memory and streams that a failure leaves behind. A log that fails
 * is ignored.
 */
final class CudaLog {
    private static final System.Logger LOGGER = System.getLogger("allocator.cuda.memory");

    private CudaLog() {}

    static void debug(String format, Object... values) {
        log(Level.DEBUG, format, values);
    }

    static void warning(String format, Object... values) {
        log(Level.WARNING, format, values);
    }

    private static void log(Level level, String format, Object... values) {
        try {
            LOGGER.log(level, format, values);
        } catch (Throwable e) {
            // A log that fails does not fail what is logged.
        }
    }
}
