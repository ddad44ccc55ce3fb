package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.memory.DeviceMemory;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CudaArenaFactoryTest {
    @Test
    void withoutADriverThereIsNoDeviceAndAReason() {
        try (EpFactory factory = new CudaArenaFactory(
                () -> new CudaAvailability.Unavailable("no CUDA driver: libcuda.so.1 not found"))) {
            assertThat(factory.discoverDevices().devices()).isEmpty();
            assertThat(factory.discoverDevices().notes()).containsExactly("no CUDA driver: libcuda.so.1 not found");
        }
    }

    @Test
    void theVersionIsThatOfTheModule() {
        final Module module = CudaArenaFactory.class.getModule();
        assumeTrue(module.isNamed(), "on the class path");
        try (EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Unavailable("a test"))) {
            assertThat(module.getDescriptor().rawVersion()).hasValue(factory.version());
        }
    }

    @Test
    void aDeviceWithoutPoolsIsServedByTheArena() {
        try (SimulatedCudaDriver driver =
                        SimulatedCudaDriver.builder().withoutMemoryPools().build();
                EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final MemoryInfo memory = factory.discoverDevices()
                    .devices()
                    .getFirst()
                    .defaultMemory()
                    .orElseThrow();
            final Allocator allocator = factory.createAllocator(
                    memory, AllocatorOptions.of(Map.of("arena.use_cuda_mempool", "1"), "session"));
            assertThat(allocator).isInstanceOf(DeviceArena.class);
            assertThat(allocator.effectiveOptions().value("arena.use_cuda_mempool"))
                    .isEqualTo("0");
            assertThat(allocator.effectiveOptions().origin("arena.use_cuda_mempool"))
                    .isEqualTo("session");
            factory.releaseAllocator(allocator);
        }
    }

    @Test
    void eachDeviceHasAPinnedArenaOfItsOwn() {
        try (SimulatedCudaDriver driver =
                        SimulatedCudaDriver.builder().withDevices(2).build();
                EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final List<Allocator> arenas = factory.discoverDevices().devices().stream()
                    .map(device -> device.hostAccessibleMemory().orElseThrow())
                    .map(memory -> factory.createAllocator(memory, AllocatorOptions.EMPTY))
                    .toList();
            assertThat(arenas).hasSize(2).hasOnlyElementsOfType(PinnedArena.class);
            arenas.getFirst().free(arenas.getFirst().alloc(1000));
            assertThat(arenas)
                    .extracting(arena -> arena.stats().numArenaExtensions())
                    .containsExactly(1L, 0L);
            arenas.forEach(factory::releaseAllocator);
        }
    }

    @Test
    void readOnlyMemoryBypassesTheArena() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final MemoryInfo memory = factory.discoverDevices()
                    .devices()
                    .getFirst()
                    .readOnlyMemory()
                    .orElseThrow();
            final Allocator weights = factory.createAllocator(memory, AllocatorOptions.EMPTY);
            assertThat(weights).isInstanceOf(DeviceMemory.class);
            final long address = weights.alloc(1000);
            assertThat(weights.stats().bytesHeld()).isEqualTo(1000);
            weights.free(address);
            assertThat(weights.stats().bytesHeld()).isZero();
            factory.releaseAllocator(weights);
        }
    }

    @Test
    void theDriverIsProbedByDiscoveryOnly() {
        try (EpFactory factory = new CudaArenaFactory(() -> {
            throw new AssertionError("probed");
        })) {
            assertThat(factory.name()).isEqualTo("cuda-arena");
            assertThat(factory.optionKeys()).isNotEmpty();
        }
    }
}
