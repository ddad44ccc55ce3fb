package allocator.conformance;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which tests the kit has for which rule: read from the suites themselves, and written to {@code docs/conformance.md}.
 */
final class Catalogue {
    /** Rules that no test can prove from a provider's side. */
    private static final Map<String, String> UNTESTED = Map.of(
            "M-01",
                    "binds whoever looks memory up, which is the runtime; the comparison itself is the contract's own code",
            "O-04", "binds the runtime, which merges the places before a provider sees the settings",
            "T-02", "is a duty of the user; the kit's own programs keep it",
            "T-06", "is a duty of the user; the kit's own programs keep it",
            "C-03", "is about time, which a test on a shared machine cannot judge; the benchmarks measure it");

    private Catalogue() {}

    /** Why a rule has no test. */
    static String whyUntested(String rule) {
        return UNTESTED.getOrDefault(rule, "no test of this rule was asked for");
    }

    static Map<String, String> untested() {
        return new TreeMap<>(UNTESTED);
    }

    /** The tests of each rule that has any, in the order of their names. */
    static Map<String, List<TestName>> tests() {
        final Map<String, List<TestName>> tests = new TreeMap<>();
        Arrays.stream(AllocatorConformance.class.getDeclaredClasses())
                .map(Class::getSuperclass)
                .flatMap(chapter -> Arrays.stream(chapter.getDeclaredMethods()))
                .filter(method -> method.isAnnotationPresent(ConformanceTest.class))
                .sorted(Comparator.comparing(Method::getName))
                .map(TestName::of)
                .forEach(test -> tests.computeIfAbsent(test.rule(), _ -> new ArrayList<>())
                        .add(test));
        return tests;
    }

    /** The page {@code docs/conformance.md}. */
    static String page() {
        final Map<String, List<TestName>> tests = tests();
        final long count = tests.values().stream().mapToLong(List::size).sum();
        final StringBuilder page = new StringBuilder("# What the conformance kit proves\n\n");
        page.append("Made from the kit's code; a test compares this page with it. ")
                .append(Contract.rules().size())
                .append(" rules, ")
                .append(UNTESTED.size())
                .append(" of them untested for the reason given, ")
                .append(count)
                .append(" tests. Each test runs once for each memory that a provider lists. *Optional* tests show what"
                        + " should or may hold and do not fail a provider; *stochastic* ones may pass by luck.\n");
        for (final Contract.Chapter chapter : Contract.chapters()) {
            page.append("\n## ")
                    .append(chapter.letter())
                    .append(" — ")
                    .append(chapter.title())
                    .append("\n\n");
            page.append("| rule | tests |\n|---|---|\n");
            for (final Contract.Rule rule : chapter.rules()) {
                page.append("| ")
                        .append(rule.id())
                        .append(" | ")
                        .append(cell(rule, tests))
                        .append(" |\n");
            }
        }
        return page.toString();
    }

    private static String cell(Contract.Rule rule, Map<String, List<TestName>> tests) {
        final List<TestName> proved = tests.getOrDefault(rule.id(), List.of());
        if (proved.isEmpty()) {
            return "**untested**: it " + whyUntested(rule.id());
        }
        return String.join(
                "<br>",
                proved.stream()
                        .map(test -> switch (test.strength()) {
                            case REQUIRED -> test.sentence();
                            case OPTIONAL -> test.sentence() + " (optional)";
                            case STOCHASTIC -> test.sentence() + " (stochastic)";
                        })
                        .toList());
    }
}
