package allocator.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Settings and configuration parameters. */
class ConformanceSettingsTest {
    @Test
    void theParametersGiveTheSameSettings() {
        final ConformanceSettings settings = new ConformanceSettings(7, true, Duration.ofMillis(1500));
        assertThat(ConformanceSettings.from(
                        name -> Optional.ofNullable(settings.parameters().get(name))))
                .isEqualTo(settings);
    }

    @Test
    void aTimeLimitMayBeAsLongAsItCan() {
        final ConformanceSettings settings = new ConformanceSettings(7, true, Duration.ofSeconds(Long.MAX_VALUE));
        assertThat(ConformanceSettings.from(name ->
                                Optional.ofNullable(settings.parameters().get(name)))
                        .timeLimit())
                .isGreaterThan(Duration.ofDays(365L * 292));
    }

    @Test
    void withoutParametersTheDefaultsApply() {
        assertThat(ConformanceSettings.from(_ -> Optional.empty())).isEqualTo(ConformanceSettings.DEFAULT);
    }

    @Test
    void quickSettingsKeepSeedAndTimeLimit() {
        final ConformanceSettings full = new ConformanceSettings(7, false, Duration.ofSeconds(3));
        assertThat(full.withQuick(true)).isEqualTo(new ConformanceSettings(7, true, Duration.ofSeconds(3)));
        assertThat(full.withQuick(true).withQuick(false)).isEqualTo(full);
    }
}
