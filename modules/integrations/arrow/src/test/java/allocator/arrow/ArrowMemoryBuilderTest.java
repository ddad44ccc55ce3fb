package allocator.arrow;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.testkit.FakeAllocator;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ArrowMemoryBuilderTest {
    private static MemoryInfo host(DeviceType device, int byteAlignment) {
        return new MemoryInfo(
                "Memory", new MemoryLocation(device, 0, 0, MemoryType.DEFAULT), byteAlignment, AllocatorType.DEVICE);
    }

    @Test
    void ofUnknownProvidersNameThoseThatThereAre() {
        assertThatThrownBy(() -> ArrowMemory.builder().provider("gpu").open())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no provider is called gpu; there are [cpu-reference");
    }

    @Test
    void ofOptionsAreRejected() {
        assertThatThrownBy(
                        () -> ArrowMemory.builder().option("arena.max_men", "1").open())
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("did you mean arena.max_mem?");
        assertThatThrownBy(() ->
                        ArrowMemory.builder().option("arena.max_mem", "1 GB").open())
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("option arena.max_mem='1 GB' (from explicit call) is not a number of bytes");
    }

    @Test
    void ofAProviderForAnAllocatorAreRejected() {
        assertThatThrownBy(() -> ArrowMemory.builder()
                        .allocator(new FakeAllocator(host(DeviceType.CPU, 256)))
                        .option("arena.max_mem", "1")
                        .open())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("[arena.max_mem]");
    }

    @Test
    void ofMemoryThatTheHostCannotUseAreRejected() {
        assertThatThrownBy(() -> ArrowMemory.builder()
                        .allocator(new FakeAllocator(host(DeviceType.GPU, 256)))
                        .open())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not memory that the host can read and write");
        assertThatThrownBy(() -> ArrowMemory.builder()
                        .allocator(new FakeAllocator(host(DeviceType.CPU, 32)))
                        .open())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is aligned to 32 bytes; Arrow's buffers need a multiple of 64");
    }

    @Test
    void ofIntervalsAreRejected() {
        assertThatThrownBy(() -> ArrowMemory.builder().shrinkEvery(Duration.ofMillis(5)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT0.005S");
    }
}
