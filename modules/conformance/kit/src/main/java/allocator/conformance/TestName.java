package allocator.conformance;

import java.lang.reflect.Method;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the name of a test says, such as {@code required_A03_liveAllocationsDoNotOverlap}.
 *
 * @param strength how much a failure means
 * @param rule the rule, such as {@code A-03}
 * @param claim what the test shows, as written in the name
 */
record TestName(Strength strength, String rule, String claim) {
    private static final Pattern FORM = Pattern.compile("(required|optional|stochastic)_([A-Z])(\\d\\d)_(\\w+)");

    /** A fault that others had: whose, the number of its report if it has one, and the claim. */
    private static final Pattern REPORTED = Pattern.compile("(rmm|ort)(\\d*)_(\\w+)");

    /** How much a failure means. */
    enum Strength {
        /** What must hold. */
        REQUIRED,
        /** What should or may hold; a failure is reported and does not count. */
        OPTIONAL,
        /** What must hold, tested by chance: a wrong provider may pass. */
        STOCHASTIC
    }

    static Optional<TestName> of(String method) {
        final Matcher matcher = FORM.matcher(method);
        return matcher.matches()
                ? Optional.of(new TestName(
                        Strength.valueOf(matcher.group(1).toUpperCase(Locale.ROOT)),
                        matcher.group(2) + "-" + matcher.group(3),
                        matcher.group(4)))
                : Optional.empty();
    }

    static TestName of(Method method) {
        return of(method.getName())
                .orElseThrow(() -> new IllegalStateException(method + " is not named strength_rule_claim"));
    }

    /** The claim in words: {@code live allocations do not overlap}, {@code RMM #2489: merge of three streams}. */
    String sentence() {
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
