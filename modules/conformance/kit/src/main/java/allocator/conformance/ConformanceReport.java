package allocator.conformance;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the kit found about a provider.
 *
 * @param subject what was proved
 * @param settings how the suites ran
 * @param filter which rules were asked for, such as {@code *} or {@code T-*}
 * @param started when
 * @param took how long
 * @param rules every rule of the contract that the filter lets through, in its order
 */
public record ConformanceReport(
        Subject subject,
        ConformanceSettings settings,
        String filter,
        Instant started,
        Duration took,
        List<RuleResult> rules) {

    /**
     * What was proved, and where.
     *
     * @param provider the factory's name
     * @param vendor who makes it
     * @param version its version
     * @param devices what it found, as text
     * @param notes what it said about things that it did not find
     * @param jdk the Java runtime
     * @param system operating system and architecture
     */
    public record Subject(
            String provider,
            String vendor,
            String version,
            List<String> devices,
            List<String> notes,
            String jdk,
            String system) {}

    /** How a rule, or a test, came out. */
    public enum Status {
        /** It holds. */
        PASSED,
        /** What should or may hold does not; that is no failure. */
        ADVICE,
        /** It is broken. */
        FAILED,
        /** It was not proved here, for the reason given. */
        SKIPPED,
        /** No test can prove it, for the reason given. */
        UNTESTED
    }

    /**
     * A rule.
     *
     * @param id such as {@code A-03}
     * @param chapter the chapter's title
     * @param text what the rule says, in Markdown
     * @param status the worst of its tests that counts
     * @param reason why it was skipped or is untested; empty otherwise
     * @param tests what ran for it
     */
    public record RuleResult(
            String id, String chapter, String text, Status status, String reason, List<TestResult> tests) {}

    /**
     * One run of a test.
     *
     * @param name the method, such as {@code required_A03_liveAllocationsDoNotOverlap}
     * @param memory the memory that it ran on, or {@code provider}
     * @param status how it came out
     * @param message why it failed or was skipped; empty otherwise
     * @param program the shortest program that shows the failure, for {@code --replay}; empty if there is none
     * @param took how long
     */
    public record TestResult(String name, String memory, Status status, String message, String program, Duration took) {
        /**
         * The message's first line.
         *
         * @return a line, empty if there is no message
         */
        public String summary() {
            return message.lines().findFirst().orElse("");
        }

        /**
         * What the test shows, in words.
         *
         * @return such as {@code live allocations do not overlap}
         */
        public String claim() {
            return TestName.of(name).map(TestName::sentence).orElse(name);
        }
    }

    /**
     * Whether no rule is broken.
     *
     * @return the verdict
     */
    public boolean passed() {
        return count(Status.FAILED) == 0;
    }

    /**
     * How many rules came out so.
     *
     * @param status the status
     * @return the number
     */
    public long count(Status status) {
        return rules.stream().filter(rule -> rule.status() == status).count();
    }

    /**
     * All runs of all tests.
     *
     * @return in the order of the rules
     */
    public List<TestResult> tests() {
        return rules.stream().flatMap(rule -> rule.tests().stream()).toList();
    }

    /** Sorts results under the rules of the contract. */
    static List<RuleResult> byRule(List<TestResult> tests, RuleFilter filter) {
        final Map<String, List<TestResult>> byRule = new TreeMap<>();
        for (final TestResult test : tests) {
            final String rule = TestName.of(test.name()).map(TestName::rule).orElse("");
            byRule.computeIfAbsent(rule, _ -> new ArrayList<>()).add(test);
        }
        return Contract.chapters().stream()
                .flatMap(chapter -> chapter.rules().stream()
                        .filter(rule -> filter.accepts(rule.id()))
                        .map(rule ->
                                result(chapter.title(), rule, List.copyOf(byRule.getOrDefault(rule.id(), List.of())))))
                .toList();
    }

    private static RuleResult result(String chapter, Contract.Rule rule, List<TestResult> tests) {
        if (tests.isEmpty()) {
            return new RuleResult(
                    rule.id(), chapter, rule.text(), Status.UNTESTED, Catalogue.whyUntested(rule.id()), tests);
        }
        // From what counts most to what counts least: a rule is skipped only if all of its tests are.
        for (final Status status : Arrays.asList(Status.FAILED, Status.ADVICE, Status.PASSED)) {
            if (tests.stream().anyMatch(test -> test.status() == status)) {
                return new RuleResult(rule.id(), chapter, rule.text(), status, "", tests);
            }
        }
        final String reasons = String.join(
                "; ", tests.stream().map(TestResult::summary).distinct().toList());
        return new RuleResult(rule.id(), chapter, rule.text(), Status.SKIPPED, reasons, tests);
    }
}
