package allocator.conformance.subject;

import java.util.ArrayList;
import java.util.List;

/**
 * Faults found while a test cleaned up, such as a leak. Recorded after each test that passed, and reported by the last
 * chapter. Thread-safe.
 */
public final class CleanupFindings {
    /**
     * A fault found during cleanup.
     *
     * @param rule the rule that is broken
     * @param test the test that was being cleaned up
     * @param fault a description
     */
    public record Finding(String rule, String test, String fault) {
        @Override
        public String toString() {
            return "after " + test + ": " + fault;
        }
    }

    private final List<Finding> findings = new ArrayList<>();
    private int tests;

    /** Counts a test that passed and was cleaned up. */
    public synchronized void testDone() {
        tests++;
    }

    /** Records a fault. */
    public synchronized void add(Finding finding) {
        findings.add(finding);
    }

    /** Returns how many tests have been counted. */
    public synchronized int tests() {
        return tests;
    }

    /** Returns the faults that break a rule. */
    public synchronized List<Finding> findings(String rule) {
        return findings.stream().filter(finding -> finding.rule().equals(rule)).toList();
    }
}
