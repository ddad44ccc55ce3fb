package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.program.Program;
import allocator.conformance.program.ProgramFailure;
import allocator.conformance.program.ProgramSearch;
import allocator.conformance.runner.simple.Fault;
import allocator.conformance.runner.simple.SimpleFactory;
import allocator.conformance.subject.ProviderFixture;
import allocator.spi.MemoryInfo;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Random programs find a wrong provider, and are shortened. */
class ProgramSearchTest {
    private static final ConformanceSettings SETTINGS = new ConformanceSettings(1, false, Duration.ofSeconds(60));

    private static ProviderFixture fixture(Fault fault) {
        return new ProviderFixture(
                () -> new SimpleFactory(fault), factory -> Optional.of(((SimpleFactory) factory).device()));
    }

    private static MemoryInfo memory(ProviderFixture fixture) throws Throwable {
        return fixture.memories(SETTINGS).getFirst();
    }

    @Test
    void aFailureIsShortenedToAFewStepsThatStillShowIt() throws Throwable {
        final ProviderFixture fixture = fixture(Fault.REUSE_BEFORE_THE_STREAM_IS_DONE);
        final ProgramFailure failure = ProgramSearch.search(fixture, SETTINGS, memory(fixture))
                .failures()
                .get("T-03");
        assertThat(failure).isNotNull();
        final Program shortest = Program.parse(failure.program().lines().toList());
        assertThat(shortest.steps()).hasSizeLessThanOrEqualTo(5);
        assertThat(ProgramSearch.run(fixture, SETTINGS, memory(fixture), shortest, _ -> {}))
                .hasValueSatisfying(violation -> assertThat(violation.rule()).isEqualTo("T-03"));
        final ProviderFixture right = fixture(Fault.NONE);
        assertThat(ProgramSearch.run(right, SETTINGS, memory(right), shortest, _ -> {}))
                .isEmpty();
    }

    @Test
    void orderedReuseBreaksNothing() throws Throwable {
        final ProviderFixture fixture = fixture(Fault.NONE);
        final Program program = Program.parse(List.of(
                "memory Simple (gpu:0)",
                "open s1",
                "open s2",
                "alloc b1 4096 on s1",
                "free b1",
                "notify n1 on s1",
                "wait n1 on s2",
                "alloc b2 4096 on s2",
                "close s1",
                "run-end s2",
                "alloc b3 4096"));
        assertThat(ProgramSearch.run(fixture, SETTINGS, memory(fixture), program, _ -> {}))
                .isEmpty();
    }
}
