package allocator.cuda.memory;

import allocator.provider.support.Failures;
import allocator.provider.support.LogLimit;
import allocator.provider.support.StackReserve;
import allocator.spi.MemoryInfo;
import java.lang.System.Logger.Level;

/**
 * The logger of the CUDA providers, {@code allocator.cuda.memory}: {@code DEBUG} for what was found and made, and for
 * each failed call of the driver; {@code WARNING} for memory and streams that a failure leaves behind. A log that fails
 * is ignored; with little stack left it is not called.
 */
final class CudaLog {
    private static final System.Logger LOGGER = System.getLogger("allocator.cuda.memory");

    private CudaLog() {}

    static void debug(String format, Object... values) {
        log(Level.DEBUG, format, values);
    }

    /** Logs that the driver has not taken memory back, if the limit of such messages allows it. */
    static void left(LogLimit limit, MemoryInfo memory, long address, Throwable thrown) {
        try {
            final long number = limit.next();
            if (number != 0) {
                warning(
                        "{0}: 0x{1} could not be returned, it stays held: {2}{3}",
                        memory, Long.toHexString(address), Failures.describe(thrown), LogLimit.suffix(number));
            }
        } catch (Throwable e) {
            // There is no room for a message.
        }
    }

    static void warning(String format, Object... values) {
        log(Level.WARNING, format, values);
    }

    private static void log(Level level, String format, Object... values) {
        try {
            StackReserve.touch();
            LOGGER.log(level, format, values);
        } catch (Throwable e) {
            // A log that fails does not fail what is logged.
        }
    }
}
