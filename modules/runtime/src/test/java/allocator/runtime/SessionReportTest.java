package allocator.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.AllocatorReport.Setting;
import allocator.runtime.AllocatorReport.Source;
import allocator.spi.DeviceType;
import allocator.spi.MemoryType;
import allocator.testkit.FakeMemory;
import java.util.List;
import org.junit.jupiter.api.Test;

class SessionReportTest {
    private static final AllocatorReport CPU = new AllocatorReport(
            FakeMemory.memory("Cpu", DeviceType.CPU, 0, MemoryType.DEFAULT),
            "cpu-reference",
            "bert",
            Source.EXCLUSIVE,
            List.of(
                    new Setting("arena.kind", "bfc", null, "default", ""),
                    new Setting("arena.max_mem", "1000", "1000", "session", ""),
                    new Setting("arena.exclusive", "1", "0", "runtime", "the provider decided otherwise")));

    @Test
    void theTextIsATableOfEffectiveSettings() {
        assertThat(new SessionReport("bert", List.of(CPU), List.of(), List.of("not effective: x")).toString())
                .isEqualToNormalizingNewlines("""
                        session bert
                          Cpu (cpu:0) of bert, provider cpu-reference, EXCLUSIVE
                            arena.kind       -     default
                            arena.max_mem    1000  session
                            arena.exclusive  0     runtime, requested 1: the provider decided otherwise
                          note: not effective: x""");
    }

    @Test
    void aReportWithoutAllocatorsIsOneLine() {
        assertThat(new SessionReport("empty", List.of(), List.of(), List.of())).hasToString("session empty");
    }
}
