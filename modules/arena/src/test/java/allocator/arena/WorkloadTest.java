package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import allocator.spi.AllocatorOptions;
import allocator.testkit.FakeDevice;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The workloads that speed and footprint are measured on are the ones that were measured elsewhere. */
class WorkloadTest {
    private static final int PAIRS = 1_000_000;

    /** Which of two equal chunks in different regions is taken depends on the addresses that a device gives. */
    private static final double TOLERANCE = 0.015;

    private static Workload workload(String name, int thread) {
        return switch (name) {
            case "large" -> Workload.large(thread, PAIRS);
            case "replay" -> Workload.replay(thread);
            default -> Workload.small(thread, PAIRS);
        };
    }

    @ParameterizedTest
    @CsvSource({
        "large, 0, 1000000, 565715329, 9dae76319f2571c2",
        "replay, 0, 767, 23833515, 4238571ba4824a87",
        "small, 0, 1000000, 14303772, c168b989e4e45277"
    })
    void checksumsAgreeWithOtherImplementations(String name, int thread, int pairs, long peak, String checksum) {
        requireChecksum(name, thread, pairs, peak, checksum);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource({
        "large, 1, 1000000, 560384391, 1f14932a216431fc",
        "replay, 1, 745, 25795395, 4b9fd287c33009a7",
        "small, 1, 1000000, 14327581, b787d53c0936ad0a"
    })
    void checksumsOfAnotherThreadAgreeToo(String name, int thread, int pairs, long peak, String checksum) {
        requireChecksum(name, thread, pairs, peak, checksum);
    }

    private static void requireChecksum(String name, int thread, int pairs, long peak, String checksum) {
        final Workload workload = workload(name, thread);

        assertThat(workload.pairs()).isEqualTo(pairs);
        assertThat(workload.peakLiveBytes()).isEqualTo(peak);
        assertThat(Long.toHexString(workload.checksum())).isEqualTo(checksum);
    }

    /** Held over live at their peaks, as ONNX Runtime's own arena was measured. */
    @ParameterizedTest
    @CsvSource({"replay, 0, 1.45", "small, 0, 2.27", "replay, 1, 2.42"})
    void footprintIsThatOfOnnxRuntime(String name, String strategy, double heldOverLive) {
        requireFootprint(name, strategy, heldOverLive);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource({"large, 0, 1.90", "large, 1, 1.24", "small, 1, 1.17"})
    void footprintOfLargerWorkloadsIsThatOfOnnxRuntimeToo(String name, String strategy, double heldOverLive) {
        requireFootprint(name, strategy, heldOverLive);
    }

    private static void requireFootprint(String name, String strategy, double heldOverLive) {
        final Workload workload = workload(name, 0);
        final BfcArena arena = new BfcArena(
                new FakeDevice(), ArenaConfig.from(AllocatorOptions.of(Map.of("arena.extend_strategy", strategy))));

        workload.run(arena, workload.fill(arena));

        final double ratio = (double) arena.stats().peakBytesHeld() / workload.peakLiveBytes();
        assertThat(ratio).isCloseTo(heldOverLive, within(TOLERANCE));
    }
}
