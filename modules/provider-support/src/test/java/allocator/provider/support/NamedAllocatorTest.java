package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NamedAllocatorTest {
    private static final String LIMIT = Limit.KEY.name();

    @BeforeEach
    void reset() {
        ServedProviders.reset();
    }

    private static NamedAllocator open(
            Function<EpFactory, MemoryInfo> memory, Map<String, String> options, Map<String, String> defaults) {
        return NamedAllocator.open(
                ServedProviders.loader(List.of(ServedProviders.Red.class.getName())),
                "red",
                memory,
                AllocatorOptions.of(options, "the user"),
                defaults,
                "a test");
    }

    private static NamedAllocator open() {
        return open(NamedProvider::cpuMemory, Map.of(), Map.of());
    }

    @Test
    void isAnInstanceOfItsOwnWithTheDefaultsThatTheProviderHas() {
        final AllocatorOptions effective = open(
                        NamedProvider::cpuMemory, Map.of(), Map.of(LIMIT, "100", "arena.unknown", "1"))
                .allocator()
                .effectiveOptions();
        assertThat(effective.toMap()).isEqualTo(Map.of(LIMIT, "100", OptionKey.EXCLUSIVE.name(), "1"));
        assertThat(effective.origin(LIMIT)).isEqualTo("a test");
    }

    @Test
    void hasTheOptionsOfTheUserBeforeTheDefaults() {
        final AllocatorOptions effective = open(
                        NamedProvider::cpuMemory,
                        Map.of(LIMIT, "7", OptionKey.EXCLUSIVE.name(), "0"),
                        Map.of(LIMIT, "100"))
                .allocator()
                .effectiveOptions();
        assertThat(effective.toMap()).isEqualTo(Map.of(LIMIT, "7", OptionKey.EXCLUSIVE.name(), "0"));
        assertThat(effective.origin(LIMIT)).isEqualTo("the user");
    }

    @Test
    void closesTheProviderIfThereIsNoAllocator() {
        assertThatThrownBy(() -> open(NamedProvider::cpuMemory, Map.of("no.key", "7"), Map.of()))
                .isInstanceOf(InvalidOptionException.class);
        assertThatThrownBy(() -> open(
                        provider -> {
                            throw new IllegalArgumentException("not suitable");
                        },
                        Map.of(),
                        Map.of()))
                .hasMessage("not suitable");
        assertThat(ServedProviders.CALLS).containsExactly("close red", "close red");
    }

    @Test
    void releasesOnceAndClosesAfterIt() {
        final NamedAllocator opened = open();
        opened.close();
        opened.close();
        assertThat(ServedProviders.CALLS).containsExactly("create", "release", "close red");
    }

    @Test
    void triesAgainWhatFailed() {
        final NamedAllocator opened = open();
        ServedProviders.failOnce("release", new IllegalStateException("busy"));
        assertThatThrownBy(opened::close).hasMessage("busy");
        ServedProviders.failOnce("close red", new IllegalStateException("still busy"));
        assertThatThrownBy(opened::close).hasMessage("still busy");
        opened.close();
        assertThat(ServedProviders.CALLS).containsExactly("create", "release", "release", "close red", "close red");
    }

    @Test
    void doesNotReleaseAgainWhatTheDeviceFailedToTakeBack() {
        final NamedAllocator opened = open();
        ServedProviders.failOnce("release", new DeviceException("lost", null));
        assertThatThrownBy(opened::close).isInstanceOf(DeviceException.class);
        opened.close();
        assertThat(ServedProviders.CALLS).containsExactly("create", "release", "close red");
    }
}
