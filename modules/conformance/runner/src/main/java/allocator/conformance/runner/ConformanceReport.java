package allocator.conformance.runner;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.contract.Contract;
import allocator.conformance.contract.RuleFilter;
import allocator.conformance.contract.TestName;
import allocator.conformance.contract.UntestedRules;
import allocator.conformance.subject.Subject;
import java.io.Serializable;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The result of running the suites on a provider.
 *
 * @param subject the provider and its environment
 * @param settings the settings of the run
 * @param filter the patterns of the selected rules, such as {@code *} or {@code T-*}
 * @param started when the run started
 * @param took how long it took
 * @param isFinished whether the run is over; a report grows while it runs
 * @param rules the results of the selected rules, in the order of the contract
 */
public record ConformanceReport(
        Subject subject,
        ConformanceSettings settings,
        String filter,
        Instant started,
        Duration took,
        boolean isFinished,
        List<RuleResult> rules) {

    /**
     * The provider and its environment.
     *
     * @param provider the name of its factory
     * @param vendor its vendor
     * @param version its version
     * @param devices the devices it discovered, as text
     * @param notes its notes about devices that it could not use
     * @param jdk the Java runtime
     * @param system the operating system and architecture
     */
    public record Subject(
            String provider,
            String vendor,
            String version,
            List<String> devices,
            List<String> notes,
            String jdk,
            String system)
            implements Serializable {}

    /** What a report comes to. */
    public enum Verdict {
        /** Rules were proved on a memory, and none is broken. */
        CONFORMS("conforms", 0),
        /** A rule is broken. */
        BREAKS("breaks", 1),
        /** Nothing was proved: there is no device, the provider lacks all that was to prove, or the run is not over. */
        NOT_TESTED("not tested", 3);

        private final String text;
        private final int exitCode;

        Verdict(String text, int exitCode) {
            this.text = text;
            this.exitCode = exitCode;
        }

        /** {@return the exit code of the command: 0, 1 or 3} */
        public int exitCode() {
            return exitCode;
        }

        /** Returns the verdict in words. */
        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * Rules that were not proved, for one reason.
     *
     * @param because the reason
     * @param rules the rules of which nothing was proved
     * @param inPart the rules of which something else was proved
     */
    public record NotProved(String because, List<String> rules, List<String> inPart) {}

    /** The outcome of a rule or a test. */
    public enum Status {
        /** The rule holds. */
        PASSED,
        /** Something that should or may hold does not; that is no failure. */
        ADVICE,
        /** The rule is broken. */
        FAILED,
        /** The rule was not proved here, for the reason given. */
        SKIPPED,
        /** No test can prove the rule, for the reason given. */
        UNTESTED
    }

    /**
     * The result of a rule.
     *
     * @param id such as {@code A-03}
     * @param chapter the title of its chapter
     * @param title what it comes to, in one line
     * @param text the rule itself, in Markdown
     * @param status the worst status among its tests; skipped only if all of them were
     * @param reason why it was skipped or is untested; empty otherwise
     * @param tests the runs of its tests
     */
    public record RuleResult(
            String id,
            String chapter,
            String title,
            String text,
            Status status,
            String reason,
            List<TestResult> tests) {}

    /**
     * The result of one run of a test.
     *
     * @param name the name of the test, such as {@code required_A03_liveAllocationsDoNotOverlap}
     * @param memory the memory it ran on, or {@code provider}
     * @param status the outcome
     * @param message why it failed or was skipped; empty otherwise
     * @param program the shortest program that shows the failure, for {@code --replay}; empty if there is none
     * @param took how long it took
     */
    public record TestResult(String name, String memory, Status status, String message, String program, Duration took)
            implements Serializable {
        /** {@return the first line of the message; empty if there is none} */
        public String summary() {
            return message.lines().findFirst().orElse("");
        }

        /** {@return what the test proves, in words, such as {@code live allocations do not overlap}} */
        public String claim() {
            return TestName.of(name).map(TestName::sentence).orElse(name);
        }
    }

    /** {@return what the report comes to; of a run that is not over, {@code BREAKS} or {@code NOT_TESTED}} */
    public Verdict verdict() {
        if (!passed()) {
            return Verdict.BREAKS;
        }
        final boolean isProved = !subject.devices().isEmpty()
                && tests().stream().anyMatch(test -> test.status() == Status.PASSED || test.status() == Status.ADVICE);
        return isFinished && isProved ? Verdict.CONFORMS : Verdict.NOT_TESTED;
    }

    /** {@return what was not proved, an element for each reason, in the order of the rules} */
    public List<NotProved> notProved() {
        final Map<String, NotProved> byReason = new LinkedHashMap<>();
        for (final RuleResult rule : rules) {
            final boolean isWhole = rule.status() == Status.SKIPPED || rule.status() == Status.UNTESTED;
            final Stream<String> reasons = rule.tests().isEmpty()
                    ? Stream.of(rule.status() == Status.UNTESTED ? "it " + rule.reason() : rule.reason())
                    : rule.tests().stream()
                            .filter(test -> test.status() == Status.SKIPPED)
                            .map(TestResult::summary);
            reasons.distinct().forEach(reason -> {
                final NotProved entry = byReason.computeIfAbsent(
                        reason, _ -> new NotProved(reason, new ArrayList<>(), new ArrayList<>()));
                (isWhole ? entry.rules() : entry.inPart()).add(rule.id());
            });
        }
        return List.copyOf(byReason.values());
    }

    /** {@return whether no rule is broken; that may be because nothing was tested, see {@link #verdict}} */
    public boolean passed() {
        return count(Status.FAILED) == 0;
    }

    /**
     * {@return the number of rules with a status}
     *
     * @param status the status
     */
    public long count(Status status) {
        return rules.stream().filter(rule -> rule.status() == status).count();
    }

    /** {@return the results of all runs of all tests, in the order of the rules} */
    public List<TestResult> tests() {
        return rules.stream().flatMap(rule -> rule.tests().stream()).toList();
    }

    /**
     * Groups results by the rules of the contract.
     *
     * @param notRun why a rule that has tests has no result
     */
    static List<RuleResult> byRule(List<TestResult> tests, RuleFilter filter, String notRun) {
        final Map<String, List<TestResult>> byRule = new TreeMap<>();
        for (final TestResult test : tests) {
            final String rule = TestName.of(test.name()).map(TestName::rule).orElse("");
            byRule.computeIfAbsent(rule, _ -> new ArrayList<>()).add(test);
        }
        return Contract.chapters().stream()
                .flatMap(chapter -> chapter.rules().stream()
                        .filter(rule -> filter.accepts(rule.id()))
                        .map(rule -> result(
                                chapter.title(), rule, List.copyOf(byRule.getOrDefault(rule.id(), List.of())), notRun)))
                .toList();
    }

    private static RuleResult result(String chapter, Contract.Rule rule, List<TestResult> tests, String notRun) {
        if (tests.isEmpty()) {
            final String untested = UntestedRules.reasons().get(rule.id());
            return new RuleResult(
                    rule.id(),
                    chapter,
                    rule.title(),
                    rule.text(),
                    untested == null ? Status.SKIPPED : Status.UNTESTED,
                    untested == null ? notRun : untested,
                    tests);
        }
        // From the status that counts most to the one that counts least: a rule is skipped only if all of its tests
        // are.
        for (final Status status : Arrays.asList(Status.FAILED, Status.ADVICE, Status.PASSED)) {
            if (tests.stream().anyMatch(test -> test.status() == status)) {
                return new RuleResult(rule.id(), chapter, rule.title(), rule.text(), status, "", tests);
            }
        }
        final String reasons = String.join(
                "; ", tests.stream().map(TestResult::summary).distinct().toList());
        return new RuleResult(rule.id(), chapter, rule.title(), rule.text(), Status.SKIPPED, reasons, tests);
    }
}
