package allocator.conformance.contract;

import java.lang.reflect.Method;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The parsed name of a test, such as {@code required_A03_liveAllocationsDoNotOverlap}.
 *
 * @param strength how much a failure means
 * @param rule the rule, such as {@code A-03}
 * @param claim what the test proves, as spelled in the name
 */
public record TestName(Strength strength, String rule, String claim) {
    private static final Pattern FORM = Pattern.compile("(required|optional|stochastic)_([A-Z])(\\d\\d)_(\\w+)");

    /** A fault reported for another project: the project, the number of the report if it has one, and the claim. */
    private static final Pattern REPORTED = Pattern.compile("(rmm|ort)(\\d*)_(\\w+)");

    /** How much a failure means. */
    public enum Strength {
        /** Proves what must hold. */
        REQUIRED,
        /** Proves what should or may hold; a failure is reported but does not count. */
        OPTIONAL,
        /** Tests at random what must hold: a wrong provider may pass by chance. */
        STOCHASTIC
    }

    /** Parses the name of a method; empty if it is not the name of a test. */
    public static Optional<TestName> of(String method) {
        final Matcher matcher = FORM.matcher(method);
        return matcher.matches()
                ? Optional.of(new TestName(
                        Strength.valueOf(matcher.group(1).toUpperCase(Locale.ROOT)),
                        matcher.group(2) + "-" + matcher.group(3),
                        matcher.group(4)))
                : Optional.empty();
    }

    /**
     * Parses the name of a test.
     *
     * @throws IllegalStateException if the method is not named like a test
     */
    public static TestName of(Method method) {
        return of(method.getName())
                .orElseThrow(() -> new IllegalStateException(method + " is not named strength_rule_claim"));
    }

    /**
     * Returns the claim in words, such as {@code live allocations do not overlap} or {@code RMM #2489: merge of three
     * streams}.
     */
    public String sentence() {
        final Matcher known = REPORTED.matcher(claim);
        return known.matches()
                ? (known.group(1).equals("rmm") ? "RMM" : "ONNX Runtime")
                        + (known.group(2).isEmpty() ? "" : " #" + known.group(2))
                        + ": "
                        + inWords(known.group(3))
                : inWords(claim);
    }

    private static String inWords(String name) {
        return name.replaceAll("(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])", " ")
                .toLowerCase(Locale.ROOT);
    }
}
