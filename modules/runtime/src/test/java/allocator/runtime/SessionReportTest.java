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

    private static AllocatorReport report(String name, String provider, Setting setting) {
        return new AllocatorReport(
                FakeMemory.memory(name, DeviceType.GPU, 0, MemoryType.DEFAULT),
                provider,
                "bert",
                Source.EXCLUSIVE,
                List.of(setting));
    }

    private static List<String> warnings(AllocatorReport... allocators) {
        return new SessionReport("bert", List.of(allocators), List.of(), List.of()).warnings();
    }

    @Test
    void aKeyThatServesAnotherMemoryOfTheProviderIsNoReasonToWarn() {
        final Setting effective = new Setting("arena.policy", "compact", "compact", "session", "");
        final Setting unknown = new Setting("arena.policy", "compact", null, "session", "the key does not apply");
        final AllocatorReport pinned = report("Pinned", "cuda-arena", unknown);

        assertThat(warnings(report("Gpu", "cuda-arena", effective), pinned)).isEmpty();
        assertThat(warnings(report("Gpu", "other", effective), pinned))
                .containsExactly("arena.policy=compact is not effective on Pinned (gpu:0): the key does not apply");
    }

    @Test
    void aValueOtherThanTheRequestedOneIsWarnedOf() {
        final Setting effective = new Setting("arena.max_mem", "1000", "1000", "session", "");
        final Setting other = new Setting("arena.max_mem", "1000", "500", "session", "it is shared");
        final Setting byDefault = new Setting("arena.max_mem", "0", "500", "default", "it is shared");

        assertThat(warnings(report("Gpu", "cuda-arena", effective), report("Pinned", "cuda-arena", other)))
                .containsExactly("arena.max_mem=1000 is not effective on Pinned (gpu:0): it is shared");
        assertThat(warnings(report("Gpu", "cuda-arena", byDefault))).isEmpty();
    }
}
