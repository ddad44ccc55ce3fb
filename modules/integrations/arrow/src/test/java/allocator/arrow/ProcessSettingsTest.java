package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.InvalidOptionException;
import java.util.Properties;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcessSettingsTest {
    private static Properties properties(String... keysAndValues) {
        final Properties properties = new Properties();
        properties.setProperty("java.home", "/somewhere");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            properties.setProperty("java.allocator.arrow." + keysAndValues[i], keysAndValues[i + 1]);
        }
        return properties;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            budget         | -1       | is not a number of bytes from 0 to
            budget         | 64MB     | is not a number of bytes from 0 to
            budget         | 16777215 | is not 0 for no limit, or at least 16777216, the chunk
            child_budgets  | yes      | is not 0 (off) or 1 (on)
            track_leaks    | true     | is not 0 (off) or 1 (on)
            shrink_seconds | 1.5      | is not a number from 0 to
            arena.max_mem  | 1000000  | is not 0 for no limit, or at least 16777216, the chunk
            arena.max_mem  | one      | is not a number of bytes from 0 to
            """)
    void aWrongValueIsNamedWithKeyRangeAndOrigin(String key, String value, String accepted) {
        assertThatThrownBy(() -> ProcessSettings.of(properties(key, value)))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageStartingWith("option " + key + "='" + value + "' (from system property java.allocator.arrow."
                        + key + ") " + accepted);
    }

    @Test
    void aValueThatIsNoTextIsNamedWithItsClass() {
        final Properties properties = properties();
        properties.put("java.allocator.arrow.budget", 1 << 26);
        properties.put("other", 1);
        assertThatThrownBy(() -> ProcessSettings.of(properties))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessage(
                        "option budget='java.lang.Integer' (from system property java.allocator.arrow.budget) is not"
                                + " a text; set the property to a String");
    }

    @Test
    void anUnknownKeyIsNamedWithTheClosestOne() {
        assertThatThrownBy(() -> ProcessSettings.of(properties("bugdet", "1")))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageStartingWith("unknown option bugdet='1' (from system property java.allocator.arrow.bugdet);"
                        + " did you mean budget?");
        assertThatThrownBy(() -> ProcessSettings.of(properties("arena.police", "compact"))
                        .open())
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageStartingWith("unknown option arena.police='compact' (from system property"
                        + " java.allocator.arrow.arena.police); did you mean arena.policy?");
    }

    @Test
    void anUnknownProviderIsNamedWithItsOrigin() {
        assertThatThrownBy(
                        () -> ProcessSettings.of(properties("provider", "gpu")).open())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no provider is called gpu; there are [cpu-reference")
                .hasMessageEndingWith("(from system property java.allocator.arrow.provider)");
    }

    @Test
    void allOfThemAreEffective() {
        final ProcessSettings settings = ProcessSettings.of(properties(
                "provider", "cpu-reference",
                "budget", "16777216",
                "child_budgets", "1",
                "track_leaks", "1",
                "shrink_seconds", "0",
                "arena.max_mem", "33554432"));
        try (ArrowMemory memory = settings.open();
                RootAllocator root = new RootAllocator(RootAllocator.configBuilder()
                        .allocationManagerFactory(memory)
                        .build())) {
            assertThat(memory.allocator().effectiveOptions().value("arena.max_mem"))
                    .isEqualTo("33554432");
            assertThat(memory.allocator().effectiveOptions().origin("arena.max_mem"))
                    .isEqualTo("system property java.allocator.arrow.arena.max_mem");
            assertThat(memory.allocator().effectiveOptions().value("arena.keep_first_region"))
                    .isEqualTo("0");
            root.buffer(16 << 20).close();
            assertThatThrownBy(() -> root.buffer((16 << 20) + 1))
                    .isInstanceOf(OutOfMemoryException.class)
                    .cause()
                    .hasMessageContaining("arrow");
            try (var buffer = root.buffer(64)) {
                assertThat(memory.liveBuffers().bytes()).isEqualTo(buffer.capacity());
            }
        }
    }

    @Test
    void noneIsNeeded() {
        try (ArrowMemory memory = ProcessSettings.of(properties()).open()) {
            assertThat(memory.stats().limit()).isEqualTo(allocator.spi.AllocatorStats.UNLIMITED);
        }
    }
}
