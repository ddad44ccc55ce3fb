package allocator.conformance.subject;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.conformance.ConformanceSettings;
import allocator.spi.AllocatorStats;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

class StatisticsCheckTest {
    private static final AllocatorStats BEFORE = stats(3, 4);
    private static final AllocatorStats NOW = stats(1, 5);

    private static AllocatorStats stats(long allocs, long failed) {
        return new AllocatorStats.Builder()
                .inUse(256, 100, 512)
                .calls(allocs, 0, failed, 256)
                .build();
    }

    @Test
    void changesNameTheFieldsThatDifferAndNoOther() {
        assertThat(StatisticsCheck.changes(BEFORE, NOW))
                .isEqualTo("numAllocs from 3 to 1, numFailedAllocs from 4 to 5");
        assertThat(StatisticsCheck.changes(BEFORE, BEFORE)).isEmpty();
    }

    @Test
    void everyFieldIsCompared() {
        final AllocatorStats other = new AllocatorStats.Builder()
                .limit(1)
                .inUse(2, 3, 4)
                .held(5, 6)
                .free(7, 8)
                .calls(9, 10, 11, 12)
                .regions(13, 14)
                .build();
        assertThat(StatisticsCheck.changes(AllocatorStats.NONE, other).split(", "))
                .hasSize(AllocatorStats.class.getRecordComponents().length - 1);
    }

    @Test
    void aFailureNamesTheFieldThatChanged() {
        final Subject subject = new Subject(
                new ProviderFixture(() -> new PlainFactory(1, true), _ -> Optional.empty()),
                ConformanceSettings.DEFAULT,
                null);
        assertThatThrownBy(() -> subject.requireSame(BEFORE, stats(3, 5), "rejected frees changed the statistics"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessage("rejected frees changed the statistics: numFailedAllocs from 4 to 5");
    }
}
