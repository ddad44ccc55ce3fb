package allocator.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What one executor last reported to the driver. Sizes are bytes.
 *
 * @param executor the name that Spark gave to the executor, {@code driver} in local mode
 * @param processId the executor's process
 * @param limit the most that the executor may hold, and the most that its tasks and sessions may have in use
 * @param held taken from the system and not returned
 * @param inUse in use by tasks and sessions, as requested
 * @param peak the peak of {@code inUse}
 * @param failures requests so far that were rejected for lack of memory
 * @param failure why the executor has no memory; empty if it has
 */
public record ExecutorReport(
        String executor,
        long processId,
        long limit,
        long held,
        long inUse,
        long peak,
        long failures,
        Optional<String> failure) {
    private static final String EXECUTOR = "executor";
    private static final String PROCESS = "process";
    private static final String LIMIT = "limit";
    private static final String HELD = "held";
    private static final String IN_USE = "inUse";
    private static final String PEAK = "peak";
    private static final String FAILURES = "failures";
    private static final String FAILURE = "failure";

    /**
     * Returns the report as a message: classes of the JDK only, which Spark can read on the driver wherever this
     * project's jars are.
     */
    HashMap<String, String> toMessage() {
        final HashMap<String, String> message = new HashMap<>();
        message.put(EXECUTOR, executor);
        message.put(PROCESS, Long.toString(processId));
        message.put(LIMIT, Long.toString(limit));
        message.put(HELD, Long.toString(held));
        message.put(IN_USE, Long.toString(inUse));
        message.put(PEAK, Long.toString(peak));
        message.put(FAILURES, Long.toString(failures));
        failure.ifPresent(reason -> message.put(FAILURE, reason));
        return message;
    }

    /** Reads a message of an executor, which may be of another version: what it lacks is 0 or empty. */
    static ExecutorReport of(Map<?, ?> message) {
        return new ExecutorReport(
                text(message, EXECUTOR),
                number(message, PROCESS),
                number(message, LIMIT),
                number(message, HELD),
                number(message, IN_USE),
                number(message, PEAK),
                number(message, FAILURES),
                Optional.ofNullable(message.get(FAILURE)).map(String::valueOf));
    }

    private static String text(Map<?, ?> message, String key) {
        final Object value = message.get(key);
        return value == null ? "" : value.toString();
    }

    private static long number(Map<?, ?> message, String key) {
        final String text = text(message, key);
        return text.isEmpty() ? 0 : Long.parseLong(text);
    }
}
