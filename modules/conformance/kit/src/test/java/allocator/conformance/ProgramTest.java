package allocator.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.conformance.ProgramGenerator.Abilities;
import allocator.spi.MemoryInfo;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Programs are found, cut short, written and read again. */
class ProgramTest {
    private static final ConformanceSettings SETTINGS = new ConformanceSettings(1, false, Duration.ofSeconds(60));

    private static Kit kit(Fault fault) {
        return new Kit(() -> new SimpleFactory(fault), factory -> Optional.of(((SimpleFactory) factory).device()));
    }

    private static MemoryInfo memory(Kit kit) throws Throwable {
        return kit.memories(SETTINGS).getFirst();
    }

    @Test
    void aProgramReadsAsItIsWritten() {
        for (int seed = 0; seed < 50; seed++) {
            final Program program = ProgramGenerator.generate(
                    "Simple (gpu:0)", seed, 80, new Abilities(true, true, true, true, Map.of()));
            assertThat(Program.parse(program.toString().lines().toList())).isEqualTo(program);
        }
    }

    @Test
    void theSameSeedMakesTheSameProgram() {
        final Abilities all = new Abilities(true, true, true, true, Map.of());
        assertThat(ProgramGenerator.generate("m", 7, 80, all)).isEqualTo(ProgramGenerator.generate("m", 7, 80, all));
        assertThat(ProgramGenerator.generate("m", 7, 80, all)).isNotEqualTo(ProgramGenerator.generate("m", 8, 80, all));
    }

    @Test
    void aMalformedLineIsNamed() {
        assertThatThrownBy(() -> Program.parse(List.of("memory m", "alloc b1")))
                .hasMessageContaining("line 2")
                .hasMessageContaining("alloc b1");
        assertThatThrownBy(() -> Program.parse(List.of("alloc b1 5"))).hasMessageContaining("memory NAME");
    }

    @Test
    void aFailureIsCutToAFewStepsThatStillShowIt() throws Throwable {
        final Kit kit = kit(Fault.REUSE_BEFORE_THE_STREAM_IS_DONE);
        final ProgramFailure failure =
                ProgramSearch.search(kit, SETTINGS, memory(kit)).failures().get("T-03");
        assertThat(failure).isNotNull();
        final Program shortest = Program.parse(failure.program().lines().toList());
        assertThat(shortest.steps()).hasSizeLessThanOrEqualTo(5);
        assertThat(ProgramSearch.broken(kit, SETTINGS, memory(kit), shortest, _ -> {}))
                .hasValueSatisfying(broken -> assertThat(broken.rule()).isEqualTo("T-03"));
        final Kit right = kit(Fault.NONE);
        assertThat(ProgramSearch.broken(right, SETTINGS, memory(right), shortest, _ -> {}))
                .isEmpty();
    }

    @Test
    void orderedReuseBreaksNothing() throws Throwable {
        final Kit kit = kit(Fault.NONE);
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
        assertThat(ProgramSearch.broken(kit, SETTINGS, memory(kit), program, _ -> {}))
                .isEmpty();
    }
}
