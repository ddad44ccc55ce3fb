package allocator.conformance.subject;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Faults found while a test cleaned up, such as a leak. Recorded after each test that passed, and reported by the last
 * chapter. Thread-safe.
 */
public final class CleanupFindings {
    /** The findings that a run on this thread adds to; bound by a runner that resumes a run or looks for itself. */
    public static final ScopedValue<CleanupFindings> CURRENT = ScopedValue.newInstance();

    /**
     * A fault found during cleanup.
     *
     * @param rule the rule that is broken
     * @param test the test that was being cleaned up, and its memory
     * @param fault a description
     */
    public record Finding(String rule, String test, String fault) implements Serializable {
        @Override
        public String toString() {
            return "after " + test + ": " + fault;
        }
    }

    private final List<Finding> findings = new ArrayList<>();
    private final boolean watchesProcess;
    private int tests;

    /** Creates findings without any, of a run that does not watch the process. */
    public CleanupFindings() {
        this(List.of(), 0, false);
    }

    /**
     * Creates findings that go on from others.
     *
     * @param findings the findings so far
     * @param tests how many tests have been counted so far
     * @param watchesProcess whether changes of the process are recorded as findings of L-04
     */
    public CleanupFindings(List<Finding> findings, int tests, boolean watchesProcess) {
        this.findings.addAll(findings);
        this.tests = tests;
        this.watchesProcess = watchesProcess;
    }

    /** Returns whether changes of the process are recorded as findings of L-04. */
    public boolean watchesProcess() {
        return watchesProcess;
    }

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

    /** Returns all faults. */
    public synchronized List<Finding> findings() {
        return List.copyOf(findings);
    }

    /** Returns the faults that break a rule. */
    public synchronized List<Finding> findings(String rule) {
        return findings.stream().filter(finding -> finding.rule().equals(rule)).toList();
    }
}
