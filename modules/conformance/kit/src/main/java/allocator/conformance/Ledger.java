package allocator.conformance;

import java.util.ArrayList;
import java.util.List;

/** What tests left behind: filled after each test that passed, read by the last chapter. Safe for use by any thread. */
final class Ledger {
    /**
     * A thing left behind.
     *
     * @param rule the rule that it breaks
     * @param test the test after which it was found
     * @param fault what was found
     */
    record Finding(String rule, String test, String fault) {
        @Override
        public String toString() {
            return "after " + test + ": " + fault;
        }
    }

    private final List<Finding> findings = new ArrayList<>();
    private int tests;

    synchronized void testDone() {
        tests++;
    }

    synchronized void add(Finding finding) {
        findings.add(finding);
    }

    synchronized int tests() {
        return tests;
    }

    synchronized List<Finding> findings(String rule) {
        return findings.stream().filter(finding -> finding.rule().equals(rule)).toList();
    }
}
