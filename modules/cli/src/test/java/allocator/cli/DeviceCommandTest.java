package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cli.output.Terminal;
import allocator.runtime.Environment;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.UnsupportedMemoryException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DeviceCommandTest {
    /** A provider without devices that cannot be closed. */
    private record Unclosable(Throwable thrown) implements EpFactory {
        @Override
        public String name() {
            return "unclosable";
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
        public void close() {
            if (thrown instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) thrown;
        }
    }

    private static List<Throwable> thrown() {
        return List.of(
                new IllegalStateException("odd\nin two lines"), new StackOverflowError(), new AssertionError("wrong"));
    }

    /** What the command has found is printed after the environment was closed. */
    @ParameterizedTest
    @MethodSource("thrown")
    void aProviderThatCannotBeClosedIsOneLineAndDoesNotCostTheResult(Throwable thrown) {
        final StringWriter err = new StringWriter();
        final Environment environment =
                Environment.builder().modulePathProviders(false).build();
        environment.register(new Unclosable(thrown));
        new ProvidersCommand(Terminal.of(new PrintWriter(new StringWriter()), new PrintWriter(err))).close(environment);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("allocator: warning: a provider failed to close: ");
    }
}
