package allocator.architecture.tests;

import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.RunOptions;
import allocator.runtime.SessionOptions;
import allocator.spi.EpFactory;
import allocator.spi.OptionKey;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The tables of {@code docs/options.md} have every option key of the providers and of the runtime, with its default.
 */
class OptionsPageTest {
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z_]+[a-z_.]*)` \\|\\s*`?([^`|]*?)`?\\s*\\|");

    /** The devices to shrink when a run ends: a list, without a default. */
    private static final String SHRINK_LIST = "memory.enable_memory_arena_shrinkage";

    @Test
    void thePageListsEveryKeyWithItsDefault() throws IOException {
        final Map<String, String> expected = new TreeMap<>(
                keys().collect(toMap(OptionKey::name, OptionsPageTest::defaultOf, OptionsPageTest::requireSame)));
        expected.put(SHRINK_LIST, "");
        assertThat(rows()).containsExactlyInAnyOrderEntriesOf(expected);
    }

    private static Stream<OptionKey<?>> keys() {
        return Stream.concat(
                ServiceLoader.load(EpFactory.class).stream().flatMap(provider -> provider.get().optionKeys().stream()),
                Stream.of(
                        RunOptions.DISABLE_SYNCHRONIZE,
                        SessionOptions.USE_ENV_ALLOCATORS,
                        SessionOptions.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS));
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }

    private static String requireSame(String one, String other) {
        assertThat(one).as("providers agree about a default").isEqualTo(other);
        return one;
    }

    private static Map<String, String> rows() throws IOException {
        return ROW.matcher(Files.readString(ReactorModule.ROOT.resolve("docs/options.md")))
                .results()
                .collect(toMap(row -> row.group(1), row -> row.group(2).strip()));
    }
}
