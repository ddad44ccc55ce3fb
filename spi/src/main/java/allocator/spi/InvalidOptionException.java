package allocator.spi;

import java.util.Collection;
import java.util.Comparator;
import java.util.Set;

/** Thrown for an invalid setting; names the key, its origin, and what would be accepted (O-01, O-02). */
public final class InvalidOptionException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    private static final Set<String> LIMITS_OF_ONNX_RUNTIME = Set.of("max_mem", "gpu_mem_limit");

    /** The key as given. */
    private final String key;

    /** The value as given. */
    private final String value;

    /** What would be accepted. */
    private final String accepted;

    /** Where it was given. */
    private final String origin;

    /**
     * Makes the exception.
     *
     * @param key the key
     * @param value the value as given
     * @param accepted what would be accepted
     * @param origin where it was given
     */
    public InvalidOptionException(String key, String value, String accepted, String origin) {
        this(
                key,
                value,
                accepted,
                origin,
                "option " + key + "='" + value + "' (from " + origin + ") is not " + accepted);
    }

    private InvalidOptionException(String key, String value, String accepted, String origin, String message) {
        super(message, null);
        this.key = key;
        this.value = value;
        this.accepted = accepted;
        this.origin = origin;
    }

    /**
     * Makes the exception for an unknown key.
     *
     * @param key the key
     * @param value its value
     * @param origin where it was given
     * @param known the keys that are understood
     * @return the exception; its message names the closest known key, if one is close: one that differs by a prefix, or
     *     else by the fewest letters, no more than a third of them; {@code arena.max_mem} for the names that ONNX
     *     Runtime has for it
     */
    public static InvalidOptionException unknownKey(String key, String value, String origin, Collection<String> known) {
        final String accepted = known.isEmpty() ? "no options" : String.join(", ", known);
        final String nearest = known.stream()
                .filter(candidate -> isClose(key, candidate))
                .min(Comparator.comparingInt((String candidate) -> differsByPrefix(key, candidate) ? 0 : 1)
                        .thenComparingInt(candidate -> distance(key, candidate)))
                .map(candidate -> "; did you mean " + candidate + "?")
                .orElse(".");
        return new InvalidOptionException(
                key,
                value,
                accepted,
                origin,
                "unknown option " + key + "='" + value + "' (from " + origin + ")" + nearest + " Known: " + accepted);
    }

    private static boolean isClose(String key, String candidate) {
        return differsByPrefix(key, candidate)
                || (candidate.endsWith("arena.max_mem") && LIMITS_OF_ONNX_RUNTIME.contains(key))
                || 3 * distance(key, candidate) <= Math.max(key.length(), candidate.length());
    }

    private static boolean differsByPrefix(String a, String b) {
        return a.endsWith("." + b) || b.endsWith("." + a);
    }

    /** Returns the Levenshtein distance: the number of letters to insert, delete or replace. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            final int[] next = new int[b.length() + 1];
            next[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                final int replaced = row[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                next[j] = Math.min(replaced, 1 + Math.min(row[j], next[j - 1]));
            }
            row = next;
        }
        return row[b.length()];
    }

    /** {@return the key as given} */
    public String key() {
        return key;
    }

    /** {@return the value as given} */
    public String value() {
        return value;
    }

    /** {@return what would be accepted: the values, or the known keys if the key is unknown} */
    public String accepted() {
        return accepted;
    }

    /** {@return the origin, where the setting was given} */
    public String origin() {
        return origin;
    }
}
