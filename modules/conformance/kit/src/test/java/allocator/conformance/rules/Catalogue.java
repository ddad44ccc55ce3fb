package allocator.conformance.rules;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.contract.Contract;
import allocator.conformance.contract.TestName;
import allocator.conformance.contract.UntestedRules;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The tests of each rule, read from the suites, as {@code docs/conformance.md} lists them. */
final class Catalogue {
    private Catalogue() {}

    /** Returns the tests of each rule that has any, in the order of their names. */
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

    /** Returns the page {@code docs/conformance.md}. */
    static String page() {
        final Map<String, List<TestName>> tests = tests();
        final long count = tests.values().stream().mapToLong(List::size).sum();
        final StringBuilder page = new StringBuilder("# What the conformance kit proves\n\n");
        page.append("This page is generated from the kit's code, and a test compares the two. ")
                .append(Contract.rules().size())
                .append(" rules, ")
                .append(UntestedRules.reasons().size())
                .append(" of them without a test for the reason given, ")
                .append(count)
                .append(" tests. Each test runs once for each memory that a provider lists. *Optional* tests prove what"
                        + " should or may hold, and do not fail a provider; a wrong provider may pass "
                        + "*stochastic* tests by"
                        + " chance. If the JVM dies in a test, [the guide](providers.md#if-a-rule-is-broken) says how"
                        + " to find which.\n");
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
            return "**untested**: it " + UntestedRules.reasons().getOrDefault(rule.id(), "was not selected");
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
