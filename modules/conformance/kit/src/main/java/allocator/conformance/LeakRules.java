package allocator.conformance;

import allocator.conformance.ConformanceTest.Scope;
import java.util.List;

/** The last chapter: what the tests before it left behind, although each gave everything back. */
abstract class LeakRules extends Chapter {
    LeakRules(Kit kit) {
        super(kit);
    }

    private static void requireNone(Subject subject, String... rules) {
        final Ledger ledger = subject.kit().ledger();
        if (ledger.tests() == 0) {
            throw Expect.skip("no other test ran");
        }
        for (final String rule : rules) {
            final List<Ledger.Finding> findings = ledger.findings(rule);
            Expect.that(
                    findings.isEmpty(),
                    "%d of %d tests ended with something left behind; the first: %s",
                    findings.size(),
                    ledger.tests(),
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
