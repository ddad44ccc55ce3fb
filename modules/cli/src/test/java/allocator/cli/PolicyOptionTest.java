package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.Environment;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.UnsupportedMemoryException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PolicyOptionTest {
    /** A provider of another vendor, with keys of its own. */
    private record Other(List<OptionKey<?>> keys) implements EpFactory {
        @Override
        public String name() {
            return "other";
        }

        @Override
        public String vendor() {
            return "tests";
        }

        @Override
        public String version() {
            return "1";
        }

        @Override
        public List<OptionKey<?>> optionKeys() {
            return keys;
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            return DeviceDiscovery.none("a test");
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            throw new UnsupportedMemoryException("none");
        }

        @Override
        public void releaseAllocator(Allocator allocator) {}

        @Override
        public void close() {}
    }

    private static Environment with(OptionKey<?>... keys) {
        final Environment environment =
                Environment.builder().modulePathProviders(false).build();
        environment.register(new Other(List.of(keys)));
        return environment;
    }

    @Test
    void aProviderWithoutPoliciesIsNamed() {
        try (Environment environment = with()) {
            assertThatThrownBy(() -> PolicyOption.settings(
                            List.of("compact"), "test", AllocatorOptions.EMPTY, environment, "other"))
                    .isInstanceOf(UsageException.class)
                    .hasMessage("--policies: other has no option arena.policy");
            assertThat(PolicyOption.hasUsual(environment, "other")).isFalse();
        }
    }

    @Test
    void aProviderWithOtherPoliciesShowsItsDefaultAlone() {
        final OptionKey<String> key = OptionKey.choice(
                "arena.policy", "best-fit", Map.of("best-fit", "best-fit", "buddy", "buddy"), "which memory serves");
        try (Environment environment = with(key)) {
            assertThat(PolicyOption.hasUsual(environment, "other")).isFalse();
            assertThat(PolicyOption.settings(
                            List.of("buddy", "best-fit"), "test", AllocatorOptions.EMPTY, environment, "other"))
                    .map(settings -> settings.value("arena.policy"))
                    .containsExactly("buddy", "best-fit");
        }
    }
}
