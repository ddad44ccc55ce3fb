package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostAllocatorTest {
    private final EpFactory factory = new CpuReferenceFactory();
    private final MemoryInfo memory =
            factory.discoverDevices().devices().getFirst().readOnlyMemory().orElseThrow();
    private final HostAllocator raw = (HostAllocator) factory.createAllocator(memory, AllocatorOptions.EMPTY);

    @AfterEach
    void release() {
        factory.releaseAllocator(raw);
    }

    @Test
    void blocksAreAlignedUsableAndCounted() {
        final long address = raw.alloc(1000);
        assertThat(address % memory.byteAlignment()).isZero();
        final MemorySegment segment = raw.segment(address, 1000);
        segment.fill((byte) 0x5a);
        assertThat(segment.get(ValueLayout.JAVA_BYTE, 999)).isEqualTo((byte) 0x5a);
        assertThat(raw.stats().bytesInUse()).isEqualTo(1000);
        raw.free(address);
        assertThat(raw.stats().bytesInUse()).isZero();
        assertThat(raw.stats().peakBytesHeld()).isEqualTo(1000);
    }

    @Test
    void emptyAllocationsCountNowhere() {
        assertThat(raw.alloc(0)).isZero();
        assertThat(raw.reserve(0)).isZero();
        raw.free(0);
        assertThat(raw.segment(0, 0).byteSize()).isZero();
        assertThat(raw.stats().numAllocs()).isZero();
    }

    @Test
    void invalidFreesAreDistinguished() {
        final long address = raw.alloc(100);
        assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> raw.free(address + 1));
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> raw.free(1));
        raw.free(address);
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> raw.free(address));
        assertThat(raw.stats().bytesInUse()).isZero();
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, Long.MAX_VALUE})
    void impossibleSizesAreRejected(long byteSize) {
        assertThatExceptionOfType(InvalidSizeException.class).isThrownBy(() -> raw.alloc(byteSize));
    }

    @Test
    void exhaustionIsTypedAndCounted() {
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> raw.alloc(Long.MAX_VALUE - 255));
        assertThat(raw.stats().numFailedAllocs()).isEqualTo(1);
        raw.free(raw.reserve(1));
        assertThat(raw.stats().numReserves()).isEqualTo(1);
    }

    /** Of such a size the C library would cache the second and third block. */
    @Test
    void freedMemoryGoesBackToTheSystem() throws IOException {
        final Path statm = Path.of("/proc/self/statm");
        assumeThat(statm).isReadable();
        final long byteSize = 24 << 20;
        for (int i = 0; i < 4; i++) {
            final long block = raw.alloc(byteSize);
            raw.segment(block, byteSize).fill((byte) 1);
            final long touched = Long.parseLong(Files.readString(statm).split(" ", -1)[1]) * 4096;
            raw.free(block);
            final long after = Long.parseLong(Files.readString(statm).split(" ", -1)[1]) * 4096;
            assertThat(touched - after)
                    .as("bytes that went back in round %d", i)
                    .isGreaterThan(byteSize * 19 / 20);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 255, 256, 131_071, 131_072, 131_073, 1_000_001})
    void blocksOfEverySizeAreUsableToTheLastByte(long byteSize) {
        final long block = raw.alloc(byteSize);
        assertThat(block % memory.byteAlignment()).isZero();
        final MemorySegment bytes = raw.segment(block, byteSize);
        bytes.fill((byte) 5);
        assertThat(bytes.get(ValueLayout.JAVA_BYTE, byteSize - 1)).isEqualTo((byte) 5);
        raw.free(block);
        assertThat(raw.stats().bytesInUse()).isZero();
    }
}
