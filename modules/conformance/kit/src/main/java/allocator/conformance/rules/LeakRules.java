package allocator.conformance.rules;

import allocator.conformance.rules.ConformanceTest.Scope;
import allocator.conformance.subject.CleanupFindings;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import java.util.List;

/** The last chapter: leaks and other faults found while the tests before it cleaned up. */
public abstract class LeakRules extends Chapter {
    private static void requireNone(Subject subject, String... rules) {
        final CleanupFindings cleanup = subject.fixture().cleanup();
        if (cleanup.tests() == 0) {
            throw Expect.skip("no other test ran");
        }
        for (final String rule : rules) {
            final List<CleanupFindings.Finding> findings = cleanup.findings(rule);
            final long tests = findings.stream()
                    .map(CleanupFindings.Finding::test)
                    .distinct()
                    .count();
            Expect.that(
                    findings.isEmpty(),
                    "%d of %d tests ended with something left behind or changed; the first: %s",
                    tests,
                    cleanup.tests(),
                    findings.isEmpty() ? "" : findings.getFirst());
        }
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F04_everyReleaseReturnsTheMemory(Subject subject) {
        requireNone(subject, "F-04");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_F09_theFactoryClosesOnceAllIsBack(Subject subject) {
        requireNone(subject, "F-09");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_K03_noQueuedWorkLosesItsMemory(Subject subject) {
        subject.requireProbe();
        requireNone(subject, "K-03");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_L04_theProcessIsLeftAsItWas(Subject subject) {
        if (!subject.fixture().cleanup().watchesProcess()) {
            throw Expect.skip("it needs the runner, in whose process nothing but the provider is at work");
        }
        requireNone(subject, "L-04");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_S04_everyTestEndsWithNothingInUse(Subject subject) {
        requireNone(subject, "S-04");
    }

    @ConformanceTest(Scope.FACTORY)
    void required_T05_everyStreamCloses(Subject subject) {
        if (subject.memories().stream().noneMatch(subject.factory()::isStreamAware)) {
            throw Expect.skip("the factory makes no streams");
        }
        requireNone(subject, "T-05");
    }
}
