package allocator.runtime.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionPlaceTest {
    private static final OptionKey<Long> LIMIT = OptionKey.bytes("arena.max_mem", 0, "limit");

    @Test
    void onlyTheKeysOfTheProviderAreSelected() {
        final AllocatorOptions selected = OptionPlace.SESSION.select(
                Map.of("ep.cuda.arena.max_mem", "5", "ep.other.arena.max_mem", "6"), "Cuda", List.of(LIMIT));
        assertThat(selected.toMap()).containsExactly(Map.entry("arena.max_mem", "5"));
        assertThat(selected.origin("arena.max_mem")).isEqualTo("session");
    }

    @Test
    void theKeysOfOneDeviceAreSelectedApart() {
        final Map<String, String> settings =
                Map.of("ep.cuda.arena.max_mem", "5", "ep.cuda.gpu:1.arena.max_mem", "6", "ep.cuda.gpu:12.x", "7");
        assertThat(OptionPlace.SESSION.select(settings, "Cuda", List.of(LIMIT)).toMap())
                .containsExactly(Map.entry("arena.max_mem", "5"));
        final AllocatorOptions ofDevice = OptionPlace.SESSION.select(settings, "Cuda", "gpu:1", List.of(LIMIT));
        assertThat(ofDevice.toMap()).containsExactly(Map.entry("arena.max_mem", "6"));
        assertThat(ofDevice.origin("arena.max_mem")).isEqualTo("session gpu:1");
    }

    @Test
    void theFirstInvalidKeyIsNamedWithItsPrefix() {
        final Map<String, String> settings =
                new TreeMap<>(Map.of("ep_factory.Cuda.arena.max_mem", "x", "ep_factory.Cuda.arena.unknown", "1"));
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> OptionPlace.ENVIRONMENT.select(settings, "Cuda", List.of(LIMIT)))
                .satisfies(e -> assertThat(e.key()).isEqualTo("ep_factory.Cuda.arena.max_mem"))
                .withMessageContaining("(from environment) is not a number of bytes");
        settings.put("ep_factory.Cuda.arena.max_mem", "7");
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> OptionPlace.ENVIRONMENT.select(settings, "Cuda", List.of(LIMIT)))
                .withMessageContaining("did you mean ep_factory.Cuda.arena.max_mem?");
    }

    @ParameterizedTest
    @CsvSource({
        "ENVIRONMENT, session.use_env_allocators, it is an option of a session",
        "ENVIRONMENT, disable_synchronize_execution_providers, it is an option of one run",
        "SESSION, ep_factory.Cuda.arena.max_mem, it is an option of an environment",
        "RUN, ep.cuda.arena.max_mem, it is an option of a session",
        "SESSION, session.use_env_allocator, did you mean session.use_env_allocators?",
        "ENVIRONMENT, max_mem, 'Known: environment.provider_order, memory.snapshot_on_failure, "
                + "environment.jmx, memory.history, memory.leaks, memory.leaks_report, ep_factory.<provider>.<key>'",
        "ENVIRONMENT, arena.max_mem, set ep_factory.<provider>.arena.max_mem in Environment.builder().option",
        "SESSION, arena.max_mem, 'in SessionOptions, such as ep.cpu-reference.arena.max_mem'",
        "RUN, arena.max_mem, 'in SessionOptions, such as ep.cpu-reference.arena.max_mem'",
    })
    void aKeyThatIsNotUnderstoodHereIsNamedWithItsPlace(OptionPlace place, String key, String text) {
        assertThat(place.unknown(key, "1")).hasMessageContaining(text);
    }
}
