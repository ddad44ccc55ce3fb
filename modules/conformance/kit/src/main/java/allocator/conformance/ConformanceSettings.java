package allocator.conformance;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The settings of a run of the suites. A vendor's test reads them from JUnit's configuration parameters, and thereby
 * from system properties: {@code allocator.conformance.seed}, {@code allocator.conformance.quick}, and
 * {@code allocator.conformance.timeout} in seconds. Beside them, {@code allocator.conformance.rules} selects the rules
 * that the test proves, such as {@code A-*} or {@code S-0?,T-03}; the tests of others are skipped, and a selection of
 * no rule fails.
 *
 * @param seed the seed of all random tests; the same seed generates the same programs
 * @param quick whether random and repeated tests are cut down, so that the suites take seconds instead of a minute
 * @param timeLimit the time limit of a single test; a test that exceeds it fails, and the provider counts as hanging;
 *     up to four of them where the test works and other processes have the processors; none above 292 years
 */
public record ConformanceSettings(long seed, boolean quick, Duration timeLimit) {
    /** The settings that apply where none are given: seed 1, the full suites, 30 seconds for a test. */
    public static final ConformanceSettings DEFAULT = new ConformanceSettings(1, false, Duration.ofSeconds(30));

    /** Of a vendor's test only; a runner selects for itself. */
    static final String RULES = "allocator.conformance.rules";

    private static final String SEED = "allocator.conformance.seed";
    private static final String QUICK = "allocator.conformance.quick";
    private static final String TIMEOUT = "allocator.conformance.timeout";

    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if {@code timeLimit} is zero or negative
     */
    public ConformanceSettings {
        if (!timeLimit.isPositive()) {
            throw new IllegalArgumentException(
                    "the time limit is " + timeLimit.toSeconds() + " s, it must be above zero");
        }
    }

    /**
     * {@return the settings that configuration parameters give} A parameter that is absent has its default.
     *
     * @param parameters returns the text of a parameter, or empty if it is not set
     * @throws IllegalArgumentException if a number is malformed or the time limit is not above zero
     */
    public static ConformanceSettings from(Function<String, Optional<String>> parameters) {
        return new ConformanceSettings(
                parameters.apply(SEED).map(Long::parseLong).orElse(DEFAULT.seed),
                parameters.apply(QUICK).map(Boolean::parseBoolean).orElse(DEFAULT.quick),
                parameters
                        .apply(TIMEOUT)
                        .map(text -> Duration.ofMillis((long) (Double.parseDouble(text) * 1000)))
                        .orElse(DEFAULT.timeLimit));
    }

    /**
     * {@return these settings for quick or for full suites, with a difference in {@link #quick} alone}
     *
     * @param isQuick whether the suites are cut down
     */
    public ConformanceSettings withQuick(boolean isQuick) {
        return new ConformanceSettings(seed, isQuick, timeLimit);
    }

    /** {@return the parameters from which {@link #from} reads these settings, for all rules: texts by name} */
    public Map<String, String> parameters() {
        return Map.of(
                RULES,
                "*",
                SEED,
                Long.toString(seed),
                QUICK,
                Boolean.toString(quick),
                TIMEOUT,
                Double.toString(TimeUnit.MILLISECONDS.convert(timeLimit) / 1000.0));
    }
}
