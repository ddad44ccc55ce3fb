package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.CompactConfig;
import allocator.arena.compact.CompactReplay.Figures;
import allocator.arena.compact.CompactReplay.Pass;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the arena holds, and how often it calls its device, while real models run. */
class CompactTracesTest {
    private static final long PAGE = 2 << 20;
    private static final int REPLAYS = 6;

    /**
     * Held by live; creates and maps of the first replay, which decide how long it takes. Of {@code two_streams}, what
     * one stream has freed is of no use to another one until the run ends, and that alone is 1.096.
     */
    @ParameterizedTest
    @CsvSource({"bert, 1.045, 60, 65", "frcnn, 1.10, 150, 270", "resnet, 1.045, 45, 75", "two_streams, 1.23, 55, 55"})
    void littleIsHeldAndNothingIsMappedInTheEnd(String trace, double mostHeld, long mostCreates, long mostMaps) {
        requireLittle(trace, mostHeld, mostCreates, mostMaps);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource({"gpt2, 1.045, 60, 60", "llama_train, 1.045, 150, 150"})
    void littleIsHeldOfLongTracesToo(String trace, double mostHeld, long mostCreates, long mostMaps) {
        requireLittle(trace, mostHeld, mostCreates, mostMaps);
    }

    private static void requireLittle(String trace, double mostHeld, long mostCreates, long mostMaps) {
        final Figures figures = CompactReplay.of(trace).run(PAGE, CompactConfig.DEFAULT, REPLAYS);
        assertThat(figures.heldByLive()).isLessThanOrEqualTo(mostHeld);
        final Pass cold = figures.passes().getFirst();
        assertThat(cold.creates()).isLessThanOrEqualTo(mostCreates);
        assertThat(cold.maps()).isLessThanOrEqualTo(mostMaps);
        assertThat(cold.unmaps()).isZero();
        assertThat(figures.passes().subList(REPLAYS - 2, REPLAYS)).containsOnly(new Pass(0, 0, 0));
    }
}
