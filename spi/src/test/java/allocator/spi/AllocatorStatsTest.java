package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.spi.AllocatorStats.Counter;
import allocator.spi.AllocatorStats.Unit;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllocatorStatsTest {
    private static final AllocatorStats STATS = new AllocatorStats.Builder()
            .inUse(256, 100, 512)
            .counter("NumSplits", 7, Unit.COUNT, true)
            .counter("CachedBytes", 4096, Unit.BYTES, false)
            .build();

    @Test
    void countersOfItsOwnAreBehindTheOthersInTheMap() {
        assertThat(STATS.toMap())
                .containsEntry("InUse", "256")
                .containsEntry("NumSplits", "7")
                .containsEntry("CachedBytes", "4096")
                .hasSize(16);
        assertThat(STATS.toMap().keySet()).endsWith("NumArenaShrinkages", "NumSplits", "CachedBytes");
    }

    @Test
    void aCounterIsFoundByItsName() {
        assertThat(STATS.counter("CachedBytes")).contains(new Counter("CachedBytes", 4096, Unit.BYTES, false));
        assertThat(STATS.counter("InUse")).isEmpty();
    }

    @Test
    void withoutThemTheOthersStay() {
        assertThat(STATS.withoutCounters())
                .isEqualTo(new AllocatorStats.Builder().inUse(256, 100, 512).build());
        assertThat(AllocatorStats.NONE.withoutCounters()).isSameAs(AllocatorStats.NONE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "InUse", "NumArenaShrinkages", "num splits", "1st", "a=b"})
    void aNameThatIsTakenOrCannotBeAKeyIsRejected(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new AllocatorStats.Builder().counter(name, 1, Unit.COUNT, true))
                .withMessageContaining("is no name for a counter");
    }

    @Test
    void twoCountersOfOneNameAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new AllocatorStats.Builder()
                        .counters(STATS.counters())
                        .counters(List.of(new Counter("NumSplits", 1, Unit.COUNT, false)))
                        .build())
                .withMessage("two counters have the name NumSplits");
    }
}
