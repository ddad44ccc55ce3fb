package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The provider on the first device of a driver. It releases the allocators that a test does not. */
final class CudaArenaFixture {
    static final long MIB = 1 << 20;

    private final List<Allocator> allocators = new ArrayList<>();
    private CudaDriver driver;
    private EpFactory factory;
    private MemoryInfo deviceMemory;
    private MemoryInfo pinnedMemory;

    void open(CudaDriver driver) {
        this.driver = driver;
        factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
        final EpDevice device = factory.discoverDevices().devices().getFirst();
        deviceMemory = device.defaultMemory().orElseThrow();
        pinnedMemory = device.hostAccessibleMemory().orElseThrow();
    }

    /** Does nothing if the fixture was not opened. */
    void close() {
        if (factory != null) {
            allocators.forEach(factory::releaseAllocator);
            factory.close();
        }
    }

    CudaDriver driver() {
        return driver;
    }

    EpFactory factory() {
        return factory;
    }

    MemoryInfo deviceMemory() {
        return deviceMemory;
    }

    MemoryInfo pinnedMemory() {
        return pinnedMemory;
    }

    /** Returns an arena of device memory. */
    Allocator device(String... keysAndValues) {
        return create(deviceMemory, keysAndValues);
    }

    /** Returns an arena of pinned memory. */
    Allocator pinned(String... keysAndValues) {
        return create(pinnedMemory, keysAndValues);
    }

    /** Returns a memory pool of the driver. */
    Allocator pool(String... keysAndValues) {
        final List<String> all = new ArrayList<>(List.of("arena.use_cuda_mempool", "1"));
        all.addAll(Arrays.asList(keysAndValues));
        return create(deviceMemory, all.toArray(new String[0]));
    }

    private Allocator create(MemoryInfo info, String... keysAndValues) {
        final Map<String, String> options = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        final Allocator allocator = factory.createAllocator(info, AllocatorOptions.of(options));
        allocators.add(allocator);
        return allocator;
    }

    /** Releases one reference to an allocator. */
    void release(Allocator allocator) {
        assertThat(allocators.remove(allocator)).isTrue();
        factory.releaseAllocator(allocator);
    }

    void fill(long address, int value, long byteSize) {
        driver.memory().memsetD8(0, address, (byte) value, byteSize);
        driver.devices().ctxSynchronize(0);
    }

    void assertFilled(MemoryInfo info, long address, int value, long byteSize) {
        final HostAccessibleAllocator staging = (HostAccessibleAllocator) pinned();
        final long copy = staging.alloc(byteSize);
        factory.dataTransfer()
                .orElseThrow()
                .copy(new MemoryRange(info, address, byteSize), new MemoryRange(pinnedMemory, copy, byteSize), null);
        final byte[] expected = new byte[(int) byteSize];
        Arrays.fill(expected, (byte) value);
        assertThat(staging.segment(copy, byteSize).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(expected);
        staging.free(copy);
        release(staging);
    }

    static ShrinkReport shrink(Allocator allocator) {
        return ((ShrinkableAllocator) allocator).shrink();
    }
}
