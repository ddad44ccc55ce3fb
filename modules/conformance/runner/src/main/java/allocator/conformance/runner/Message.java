package allocator.conformance.runner;

import allocator.conformance.runner.ConformanceReport.Subject;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.subject.CleanupFindings.Finding;
import java.io.Serializable;
import java.util.List;

/** What the process that the provider runs in reports to the runner. */
sealed interface Message extends Serializable {
    /**
     * A jar or a provider cannot be loaded; the others are not affected.
     *
     * @param text which one, and why
     */
    record Problem(String text) implements Message {}

    /**
     * The arguments are wrong; nothing was run.
     *
     * @param text what is wrong
     */
    record Refused(String text) implements Message {}

    /**
     * The kit itself failed, and did not go on.
     *
     * @param text how
     */
    record KitFailed(String text) implements Message {}

    /**
     * The provider was loaded, and its devices discovered.
     *
     * @param subject what it is
     * @param type the name of the class of its factory
     */
    record Described(Subject subject, String type) implements Message {}

    /**
     * The provider was loaded without native access, or not.
     *
     * @param fault what it threw; empty if it was loaded
     */
    record Loaded(String fault) implements Message {}

    /**
     * A test begins, or what comes before the tests and is proved by one of them.
     *
     * @param test the name of the test
     * @param chapter the class of its chapter; empty before the tests
     * @param memory the memory it runs on, or {@code provider}
     */
    record Started(String test, String chapter, String memory) implements Message {}

    /**
     * A test is done.
     *
     * @param result its result
     * @param isHang whether a call did not return; then the process has ended itself
     * @param findings the faults found by all cleanups so far
     * @param cleanups how many tests have been cleaned up so far
     */
    record Finished(TestResult result, boolean isHang, List<Finding> findings, int cleanups) implements Message {
        public Finished {
            findings = List.copyOf(findings);
        }
    }

    /**
     * The process is ended by {@code System.exit}.
     *
     * @param stack where
     */
    record Exiting(String stack) implements Message {}

    /** All tests are done. */
    record Done() implements Message {}
}
