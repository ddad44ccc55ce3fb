package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.simple.Fault;
import allocator.conformance.runner.simple.SimpleFactory;
import allocator.conformance.subject.CleanupFindings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.support.descriptor.MethodSource;

/** The tests are selected by the names with which the engine reports them. */
class SuitesTest {
    private static final String PROGRAMS = "stochastic_C02_randomProgramsReturn";

    private static final ConformanceSettings QUICK = new ConformanceSettings(1, true, Duration.ofSeconds(60));

    /** Runs some tests of the correct provider, and returns which began, each with its chapter. */
    private static Set<String> begun(String... tests) {
        final Set<String> begun = new HashSet<>();
        new Suites(
                        new ProviderRun.Provider(() -> new SimpleFactory(Fault.NONE), _ -> Optional.empty()),
                        QUICK,
                        new CleanupFindings(List.of(), 0, true),
                        ProcessState.now())
                .run(source -> Set.of(tests).contains(source.getMethodName()), new Suites.Listener() {
                    @Override
                    public void started(String test, String chapter, String memory) {
                        begun.add(chapter + "." + test);
                    }

                    @Override
                    public void finished(TestResult result, boolean isHang) {}
                });
        return begun;
    }

    @Test
    void aChapterHasTheNameThatTheEngineReports() {
        final String copies = "required_D03_rangesOfDifferentSizeAreRefused";
        assertThat(begun(PROGRAMS, copies))
                .containsExactlyInAnyOrder(
                        Suites.chapterOf(PROGRAMS) + "." + PROGRAMS, Suites.chapterOf(copies) + "." + copies);
    }

    @Test
    void whereNoTestIsSelectedNoneRuns() {
        assertThat(begun()).isEmpty();
    }

    @Test
    void aSelectedTestThatDidNotRunIsAFaultOfTheKit() {
        final List<MethodSource> selected =
                new ArrayList<>(List.of(MethodSource.from("a.B", "ran"), MethodSource.from("a.C", "ran")));
        assertThatIllegalStateException()
                .isThrownBy(() -> Suites.requireRun(selected.stream(), Set.of("a.B.ran")))
                .withMessageContaining("[a.C.ran]");
        Suites.requireRun(Stream.of(selected.getFirst()), Set.of("a.B.ran"));
    }

    @Test
    void aTestThatTheKitDoesNotHaveIsAFaultOfTheRunner() {
        assertThatIllegalStateException()
                .isThrownBy(() -> Suites.chapterOf("required_A01_isNotThere"))
                .withMessageContaining("no test required_A01_isNotThere");
    }
}
