package allocator.architecture.tests;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import allocator.onnxruntime.OnnxRuntimeAllocators;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.RunOptions;
import allocator.runtime.SessionOptions;
import allocator.spi.EpFactory;
import allocator.spi.OptionKey;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The tables of {@code docs/options.md} have every option key of the providers and of the runtime, with its default, or
 * its defaults where providers differ.
 */
class OptionsPageTest {
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([a-z_]+[a-z_.]*)` \\|\\s*`?([^`|]*?)`?\\s*\\|");

    /** The devices to shrink when a run ends: a list, without a default. */
    private static final String SHRINK_LIST = "memory.enable_memory_arena_shrinkage";

    @Test
    void thePageListsEveryKeyWithItsDefaults() throws IOException {
        final Map<String, Set<String>> expected = byName(keys().map(key -> Map.entry(key.name(), defaultOf(key))));
        expected.put(SHRINK_LIST, Set.of(""));
        expected.put(EnvironmentBuilder.PROVIDER_ORDER, Set.of(""));
        expected.put(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, Set.of(""));
        expected.put(EnvironmentBuilder.JMX, Set.of("0"));
        expected.put(EnvironmentBuilder.HISTORY, Set.of("0"));
        expected.put(EnvironmentBuilder.LEAKS, Set.of("off"));
        expected.put(EnvironmentBuilder.LEAKS_REPORT, Set.of(""));
        expected.put(OnnxRuntimeAllocators.SHARE_WEIGHTS, Set.of("0"));
        assertThat(rows()).containsExactlyInAnyOrderEntriesOf(expected);
    }

    private static Stream<OptionKey<?>> keys() {
        return Stream.concat(
                ServiceLoader.load(EpFactory.class).stream().flatMap(provider -> provider.get().optionKeys().stream()),
                Stream.of(
                        RunOptions.DISABLE_SYNCHRONIZE,
                        SessionOptions.USE_ENV_ALLOCATORS,
                        SessionOptions.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS,
                        SessionOptions.CALL_SITES));
    }

    private static <T> String defaultOf(OptionKey<T> key) {
        return key.format(key.defaultValue());
    }

    private static Map<String, Set<String>> rows() throws IOException {
        return byName(ROW.matcher(Files.readString(ReactorModule.ROOT.resolve("docs/options.md")))
                .results()
                .map(row -> Map.entry(row.group(1), row.group(2).strip())));
    }

    private static Map<String, Set<String>> byName(Stream<Map.Entry<String, String>> defaults) {
        return defaults.collect(
                groupingBy(Map.Entry::getKey, TreeMap::new, mapping(Map.Entry::getValue, toCollection(TreeSet::new))));
    }
}
