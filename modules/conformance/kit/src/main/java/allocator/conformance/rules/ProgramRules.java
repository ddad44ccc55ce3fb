package allocator.conformance.rules;

import allocator.conformance.program.ProgramFailure;
import allocator.conformance.program.ProgramSearch;
import allocator.conformance.program.ProgramVerdict;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.MemoryInfo;
import java.util.HashMap;
import java.util.Map;

/**
 * Random programs against a model of true lifetimes. The programs of a memory run once; each test reports what they
 * found about its rule.
 */
public abstract class ProgramRules extends Chapter {
    private final Map<MemoryInfo, ProgramVerdict> verdicts = new HashMap<>();

    private void require(Subject subject, String... rules) {
        final ProgramVerdict verdict = verdict(subject);
        for (final String rule : rules) {
            final ProgramFailure failure = verdict.failures().get(rule);
            if (failure != null) {
                throw failure;
            }
        }
        Expect.that(verdict.programs() > 0, "there was no time to run a single program");
    }

    private synchronized ProgramVerdict verdict(Subject subject) {
        final MemoryInfo memory = subject.memory();
        final ProgramVerdict known = verdicts.get(memory);
        if (known != null) {
            return known;
        }
        final ProgramVerdict found = ProgramSearch.search(subject.fixture(), subject.settings(), memory);
        verdicts.put(memory, found);
        return found;
    }

    @ConformanceTest
    void stochastic_A02_randomProgramsGetZeroForZeroOnly(Subject subject) {
        require(subject, "A-02");
    }

    @ConformanceTest
    void stochastic_A03_randomProgramsKeepBlocksApart(Subject subject) {
        require(subject, "A-03");
    }

    @ConformanceTest
    void stochastic_A04_randomProgramsGetAlignedBlocks(Subject subject) {
        require(subject, "A-04");
    }

    @ConformanceTest
    void stochastic_A05_randomProgramsAreServed(Subject subject) {
        require(subject, "A-05");
    }

    @ConformanceTest
    void stochastic_A06_randomProgramsMayFreeWhatIsLive(Subject subject) {
        require(subject, "A-06");
    }

    @ConformanceTest
    void stochastic_A07_randomProgramsEndInOrder(Subject subject) {
        require(subject, "A-07", "F-09");
    }

    @ConformanceTest
    void stochastic_A09_randomProgramsKeepContents(Subject subject) {
        require(subject, "A-09");
    }

    @ConformanceTest
    void stochastic_C02_randomProgramsReturn(Subject subject) {
        require(subject, "C-02");
    }

    @ConformanceTest
    void stochastic_F04_randomProgramsReleaseInOrder(Subject subject) {
        require(subject, "F-04");
    }

    @ConformanceTest
    void stochastic_K01_randomProgramsKeepContentsOverAShrink(Subject subject) {
        subject.shrinkable(subject.allocator());
        require(subject, "K-01", "K-04");
    }

    @ConformanceTest
    void stochastic_K02_randomProgramsShrinkTruthfully(Subject subject) {
        subject.shrinkable(subject.allocator());
        require(subject, "K-02", "K-03");
    }

    @ConformanceTest
    void stochastic_S01_randomProgramsAreCountedRight(Subject subject) {
        require(subject, "S-01");
    }

    @ConformanceTest
    void stochastic_S02_randomProgramsSeeConsistentCounters(Subject subject) {
        require(subject, "S-02", "S-04");
    }

    @ConformanceTest
    void stochastic_S03_randomProgramsStayWithinTheLimit(Subject subject) {
        require(subject, "S-03");
    }

    @ConformanceTest
    void stochastic_T03_randomProgramsGetOrderedMemory(Subject subject) {
        subject.orderedByStreams();
        require(subject, "T-03");
    }

    @ConformanceTest
    void stochastic_T05_randomProgramsCloseStreams(Subject subject) {
        subject.streamAware(subject.allocator());
        require(subject, "T-04", "T-05");
    }
}
