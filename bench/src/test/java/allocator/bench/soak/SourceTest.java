package allocator.bench.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SourceTest {
    @Test
    void theFirstThirdDoesNotCount() {
        final List<Long> samples = List.of(1L, 2L, 200_000L, 200_100L, 200_300L, 200_200L);
        assertThat(Source.RESIDENT.isFlat(samples)).isTrue();
        assertThat(Source.RESIDENT.verdict(samples)).isEqualTo("resident: 200100 KiB, then 200300 KiB, flat");
    }

    @Test
    void aSteadyRiseIsALeak() {
        final List<Long> rising =
                LongStream.range(0, 60).mapToObj(i -> 100_000 + 100 * i).toList();
        assertThat(Source.RESIDENT.isLeak(rising)).isTrue();
        assertThat(Source.RESIDENT.verdict(rising)).endsWith("NOT FLAT");
        assertThat(Source.CODE.isLeak(rising)).isFalse();
        assertThat(Source.CODE.verdict(rising)).endsWith("not judged");
    }

    @Test
    void lessThanAMebibyteIsFlat() {
        assertThat(Source.RESIDENT.isFlat(List.of(0L, 5000L, 6000L))).isTrue();
        assertThat(Source.RESIDENT.isFlat(List.of(0L, 5000L, 6100L))).isFalse();
    }

    @Test
    void everySourceHasAFigure() throws IOException {
        for (final Source source : Source.values()) {
            assertThat(source.kibibytes()).as(source.toString()).isPositive();
        }
    }
}
