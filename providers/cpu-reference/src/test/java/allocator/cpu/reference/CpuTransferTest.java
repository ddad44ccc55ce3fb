package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class CpuTransferTest {
    private final EpFactory factory = new CpuReferenceFactory();
    private final EpDevice device = factory.discoverDevices().devices().getFirst();
    private final MemoryInfo defaultMemory = device.defaultMemory().orElseThrow();
    private final MemoryInfo readOnlyMemory = device.readOnlyMemory().orElseThrow();

    @Test
    void copiesAreMadeAtOnce() {
        final DataTransfer transfer = factory.dataTransfer().orElseThrow();
        final HostAccessibleAllocator arena =
                (HostAccessibleAllocator) factory.createAllocator(defaultMemory, AllocatorOptions.EMPTY);
        final HostAccessibleAllocator raw =
                (HostAccessibleAllocator) factory.createAllocator(readOnlyMemory, AllocatorOptions.EMPTY);
        final long source = arena.alloc(8);
        final long target = raw.alloc(8);
        arena.segment(source, 8).set(ValueLayout.JAVA_LONG, 0, 0x0123456789abcdefL);
        transfer.copy(new MemoryRange(defaultMemory, source, 8), new MemoryRange(readOnlyMemory, target, 8), null);
        assertThat(raw.segment(target, 8).get(ValueLayout.JAVA_LONG, 0)).isEqualTo(0x0123456789abcdefL);
        assertThatExceptionOfType(InvalidSizeException.class)
                .isThrownBy(() -> transfer.copy(
                        new MemoryRange(defaultMemory, source, 8), new MemoryRange(readOnlyMemory, target, 4), null));
        arena.free(source);
        raw.free(target);
        factory.releaseAllocator(arena);
        factory.releaseAllocator(raw);
    }
}
