package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.runner.ConformanceReport;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.ConformanceRunner;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * ONNX Runtime's allocators under the kit. What they break is known and stands in the module's page; the list there is
 * neither longer nor shorter than what the kit finds.
 */
class OnnxRuntimeConformanceTest {
    private static final Path PAGE = Path.of("..", "..", "..", "docs", "modules", "java.allocator.onnxruntime.md");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| ([A-Z]-\\d\\d(?:, [A-Z]-\\d\\d)*) \\| ([a-z, ]+) \\|");

    /** The provider, which makes allocators of one source. */
    private static final class OfSource implements EpFactory {
        private final OnnxRuntimeFactory factory = new OnnxRuntimeFactory();
        private final String source;

        OfSource(String source) {
            this.source = source;
        }

        @Override
        public String name() {
            return factory.name();
        }

        @Override
        public String vendor() {
            return factory.vendor();
        }

        @Override
        public String version() {
            return factory.version();
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            return factory.discoverDevices();
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            return source.equals("arena")
                    ? factory.optionKeys()
                    : List.of(
                            OnnxRuntimeFactory.CHECK_FREES,
                            OptionKey.EXCLUSIVE,
                            OptionKey.choice(
                                    OnnxRuntimeFactory.SOURCE.name(), source, Map.of(source, source), "the source"));
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            options.requireValid(optionKeys());
            final String key = OnnxRuntimeFactory.SOURCE.name();
            return factory.createAllocator(
                    info, options.value(key) == null ? options.with(key, source, AllocatorOptions.DEFAULT) : options);
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            factory.releaseAllocator(allocator);
        }

        @Override
        public void close() {
            factory.close();
        }
    }

    private static final ConformanceSettings QUICK = new ConformanceSettings(1, true, Duration.ofMinutes(2));

    @Test
    void anArenaBreaksWhatThePageSaysAndNothingElse() throws IOException {
        requireWhatThePageSays("arena");
    }

    @ParameterizedTest
    @Tag("thorough")
    @ValueSource(strings = {"session", "shared"})
    void theOtherSourcesBreakWhatThePageSaysAndNothingElse(String source) throws IOException {
        requireWhatThePageSays(source);
    }

    private static void requireWhatThePageSays(String source) throws IOException {
        final ConformanceReport report = new ConformanceRunner(() -> new OfSource(source), QUICK, "*").run(_ -> {});

        final List<TestResult> failures = report.tests().stream()
                .filter(test -> test.status() == Status.FAILED)
                .toList();
        final String explained = failures.stream()
                .map(test -> test.name() + ": " + test.summary())
                .collect(Collectors.joining("\n", "found by the kit:\n", "\n"));
        assertEquals(
                documented(source),
                report.rules().stream()
                        .filter(rule -> rule.status() == Status.FAILED)
                        .map(ConformanceReport.RuleResult::id)
                        .collect(Collectors.toCollection(TreeSet::new)),
                explained);
    }

    /** The rules that the page says to be broken by allocators of a source. */
    private static Set<String> documented(String source) throws IOException {
        final String page = Files.readString(PAGE);
        final Set<String> rules = new TreeSet<>();
        final Matcher row = ROW.matcher(page);
        while (row.find()) {
            if (List.of(row.group(2).split(", ", -1)).contains(source)) {
                rules.addAll(List.of(row.group(1).split(", ", -1)));
            }
        }
        return rules;
    }
}
