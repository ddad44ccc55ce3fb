package allocator.runtime;

import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.inspection.Warnings;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is logged of settings that are not effective: all that is so, and nothing else. */
class SettingsWarningsTest {
    private static final OptionKey<Long> LIMIT = OptionKey.bytes("arena.max_mem", 0, "the limit");

    private final Warnings warnings = new Warnings();
    private final FakeFactory factory = FakeFactory.gpu("Cuda");

    @AfterEach
    void close() {
        warnings.close();
    }

    private static Environment environment(String key, String value) {
        return Environment.builder()
                .modulePathProviders(false)
                .option(key, value)
                .build();
    }

    private void serve(String value, String why) {
        factory.returned(allocator -> {
            final AllocatorOptions options = ((FakeAllocator) allocator).effectiveOptions();
            return ((FakeAllocator) allocator)
                    .effectiveOptions(
                            why.isEmpty()
                                    ? options.with(LIMIT.name(), value, "elsewhere")
                                    : options.served(LIMIT, Long.parseLong(value), why));
        });
    }

    @Test
    void aSharedAllocatorWithAnotherValueIsWarnedOf() {
        serve("500", "");
        try (Environment environment = environment("ep_factory.Cuda.arena.max_mem", "1000")) {
            environment.register(factory);
        }
        assertThat(warnings.texts())
                .contains("shared allocator Cuda (gpu:0) of Cuda: arena.max_mem=1000 is not effective: the provider"
                        + " shares an existing instance; its value is from elsewhere");
    }

    @Test
    void aSessionWithAnotherValueIsWarnedOf() {
        try (Environment environment = Environments.empty()) {
            environment.register(factory);
            serve("500", "");
            environment
                    .openSession(SessionOptions.builder()
                            .name("bert")
                            .provider("Cuda")
                            .option("ep.cuda.arena.max_mem", "1000")
                            .build())
                    .close();
        }
        assertThat(warnings.texts())
                .contains("bert: arena.max_mem=1000 is not effective on Cuda (gpu:0): the provider decided otherwise;"
                        + " its value is from elsewhere");
    }

    @Test
    void aSessionWithAnotherValueOfOneDeviceIsWarnedOf() {
        try (Environment environment = Environments.empty()) {
            environment.register(factory);
            serve("500", "");
            environment
                    .openSession(SessionOptions.builder()
                            .name("bert")
                            .option("ep.cuda.gpu:0.arena.max_mem", "1000")
                            .build())
                    .close();
        }
        assertThat(warnings.texts())
                .contains("bert: arena.max_mem=1000 is not effective on Cuda (gpu:0): the provider decided otherwise;"
                        + " its value is from elsewhere");
    }

    @Test
    void settingsOfAProviderWithoutADeviceInTheSessionAreWarnedOf() {
        try (Environment environment = Environments.empty()) {
            environment.register(factory);
            environment.register(FakeFactory.cpu("Other"));
            environment
                    .openSession(SessionOptions.builder()
                            .name("bert")
                            .provider("Cuda")
                            .option("ep.other.arena.max_mem", "1000")
                            .build())
                    .close();
        }
        assertThat(warnings.texts()).singleElement().asString().startsWith("bert: not effective, since the session");
    }

    @Test
    void aRoundedLimitIsReportedAsRoundedWithoutAWarning() {
        serve("1024", "rounded up to 1024");
        try (Environment environment = environment("ep_factory.Cuda.arena.max_mem", "1000")) {
            environment.register(factory);
            assertThat(limit(environment.sharedAllocators().getFirst().report()))
                    .isEqualTo(new AllocatorReport.Setting(
                            "arena.max_mem", "1000", "1024", "environment", "rounded up to 1024"));
            try (Session session = environment.openSession(SessionOptions.builder()
                    .provider("Cuda")
                    .option("ep.cuda.arena.max_mem", "1000")
                    .build())) {
                assertThat(limit(session.report().allocators().getFirst()).why())
                        .isEqualTo("rounded up to 1024");
            }
        }
        assertThat(warnings.texts()).isEmpty();
    }

    @Test
    void whatAProviderDoesInPlaceOfTheRequestIsTheReason() {
        serve("0", "is not possible here");
        try (Environment environment = environment("ep_factory.Cuda.arena.max_mem", "1000")) {
            environment.register(factory);
        }
        assertThat(warnings.texts())
                .contains("shared allocator Cuda (gpu:0) of Cuda: arena.max_mem=1000 is not effective: is not"
                        + " possible here");
    }

    @Test
    void aKeyThatServesOneMemoryOfAProviderIsNoWarningForItsOthers() {
        factory.returned(allocator -> ((FakeAllocator) allocator)
                .effectiveOptions(
                        allocator.info().equals(memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT))
                                ? AllocatorOptions.of(Map.of("arena.max_mem", "1000"), "environment")
                                : AllocatorOptions.of(Map.of("arena.kind", "bfc"), "environment")));
        try (Environment environment = environment("ep_factory.Cuda.arena.max_mem", "1000")) {
            environment.register(factory);
        }
        assertThat(warnings.texts()).isEmpty();
    }

    @Test
    void aValidKeyOfAProviderThatIsRegisteredByHandIsNoWarning() {
        try (Environment environment = environment("ep_factory.Cuda.arena.max_mem", "1000")) {
            environment.register(factory);
            environment.openSession(SessionOptions.DEFAULT).close();
        }
        assertThat(warnings.texts()).isEmpty();
    }

    @Test
    void aKeyThatNoProviderHasEverKnownIsWarnedOfOnceAtTheFirstSessionOrTheClose() {
        for (final boolean opens : List.of(true, false)) {
            try (Environment environment = environment("ep_factory.Absent.arena.max_mem", "1000")) {
                environment.register(FakeFactory.gpu("Cuda"));
                assertThat(warnings.texts()).isEmpty();
                if (opens) {
                    environment.openSession(SessionOptions.DEFAULT).close();
                    assertThat(warnings.texts()).hasSize(1);
                }
            }
            assertThat(warnings.texts())
                    .singleElement()
                    .asString()
                    .startsWith("no registered provider has it: ")
                    .contains("ep_factory.Absent.arena.max_mem");
            warnings.texts().clear();
        }
    }

    private static AllocatorReport.Setting limit(AllocatorReport report) {
        return report.settings().stream()
                .filter(setting -> setting.key().equals(LIMIT.name()))
                .findFirst()
                .orElseThrow();
    }
}
