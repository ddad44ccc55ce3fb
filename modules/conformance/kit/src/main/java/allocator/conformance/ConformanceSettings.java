package allocator.conformance;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/**
 * How the suites run. In a vendor's own test they come from JUnit's configuration parameters, and so from system
 * properties: {@code allocator.conformance.seed}, {@code .quick}, {@code .timeout} in seconds.
 *
 * @param seed where random tests begin; the same seed gives the same programs
 * @param quick whether random and repeated tests are cut to a few seconds
 * @param timeLimit the longest that one test may take; a provider that needs longer hangs
 */
public record ConformanceSettings(long seed, boolean quick, Duration timeLimit) {
    /** What applies where nothing is said. */
    public static final ConformanceSettings DEFAULT = new ConformanceSettings(1, false, Duration.ofSeconds(30));

    /** The beginning of the parameters' names. */
    static final String PREFIX = "allocator.conformance.";

    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if the limit is not above zero
     */
    public ConformanceSettings {
        if (!timeLimit.isPositive()) {
            throw new IllegalArgumentException(
                    "the time limit is " + timeLimit.toSeconds() + " s, it must be above zero");
        }
    }

    static ConformanceSettings from(Function<String, Optional<String>> parameters) {
        return new ConformanceSettings(
                parameters.apply(PREFIX + "seed").map(Long::parseLong).orElse(DEFAULT.seed),
                parameters.apply(PREFIX + "quick").map(Boolean::parseBoolean).orElse(DEFAULT.quick),
                parameters
                        .apply(PREFIX + "timeout")
                        .map(text -> Duration.ofMillis((long) (Double.parseDouble(text) * 1000)))
                        .orElse(DEFAULT.timeLimit));
    }

    /** A number of repetitions: all of them, or few when it must be quick. */
    int times(int full, int few) {
        return quick ? few : full;
    }
}
