package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.GpuDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.RemappableReserves;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Two GPUs, identical as they may be, share nothing. */
class TwoGpuTest {
    private static final long SIZE = 64 << 20;

    @Test
    void onThisMachinesGpus() {
        final CudaDriver driver = GpuDriver.require();
        Assumptions.assumeTrue(driver.devices().count() > 1, "this host has one GPU");
        eachArenaIsOnItsOwnDevice(driver);
    }

    @Test
    void onSimulatedGpus() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                .withDevices(2)
                .withLaggingStreams()
                .build()) {
            eachArenaIsOnItsOwnDevice(driver);
        }
    }

    private static void eachArenaIsOnItsOwnDevice(CudaDriver driver) {
        try (EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final List<MemoryInfo> memories = factory.discoverDevices().devices().stream()
                    .map(EpDevice::defaultMemory)
                    .map(memory -> memory.orElseThrow())
                    .toList();
            final StreamAwareAllocator first = create(factory, memories.get(0));
            final StreamAwareAllocator second = create(factory, memories.get(1));
            assertThat(first).isNotSameAs(second);
            first.free(first.alloc(1));
            second.free(second.alloc(1));

            final CudaMemoryUsage firstBefore = driver.memory().memGetInfo(0);
            final CudaMemoryUsage secondBefore = driver.memory().memGetInfo(1);
            final long onSecond = second.alloc(SIZE);
            assertThat(driver.memory().memGetInfo(0)).isEqualTo(firstBefore);
            assertThat(driver.memory().memGetInfo(1).freeByteSize())
                    .isLessThanOrEqualTo(secondBefore.freeByteSize() - SIZE);

            final long onFirst = first.alloc(SIZE);
            try (SyncStream stream = factory.createSyncStream(memories.get(0));
                    SyncStream other = factory.createSyncStream(memories.get(1));
                    SyncNotification filled = other.createNotification()) {
                driver.memory().memsetD8Async(1, onSecond, (byte) 9, SIZE, other.handle());
                filled.activate();
                filled.waitOnDevice(stream);
                factory.dataTransfer()
                        .orElseThrow()
                        .copy(
                                new MemoryRange(memories.get(1), onSecond, SIZE),
                                new MemoryRange(memories.get(0), onFirst, SIZE),
                                stream);
                stream.flush();
                other.flush();
            }
            first.free(onFirst);
            factory.releaseAllocator(first);
            second.free(onSecond);
            second.free(second.alloc(SIZE));
            factory.releaseAllocator(second);
        }
    }

    @Test
    void peersOnThisMachinesGpus() {
        final CudaDriver driver = GpuDriver.require();
        Assumptions.assumeTrue(driver.devices().count() > 1, "this host has one GPU");
        peersAccessTheMemory(driver);
    }

    @Test
    void peersOnSimulatedGpus() {
        try (SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withDevices(2).build()) {
            peersAccessTheMemory(driver);
        }
    }

    /** Work of the second device fills memory of the first one, if the hardware can; otherwise the key is rejected. */
    private static void peersAccessTheMemory(CudaDriver driver) {
        try (EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final MemoryInfo memory = memory(factory, 0);
            for (final Map<String, String> kind : List.of(
                    Map.<String, String>of(),
                    Map.of("arena.use_cuda_mempool", "1"),
                    Map.of("arena.policy", "compact"))) {
                final AllocatorOptions options =
                        AllocatorOptions.of(kind, "test").with("arena.peer_access", "gpu:1", "test");
                if (!driver.devices().deviceCanAccessPeer(1, 0)) {
                    assertThatExceptionOfType(InvalidOptionException.class)
                            .isThrownBy(() -> factory.createAllocator(memory, options))
                            .withMessageContaining("gpu:1 cannot");
                    continue;
                }
                final Allocator allocator = factory.createAllocator(memory, options);
                assertThat(allocator.effectiveOptions().value("arena.peer_access"))
                        .isEqualTo("gpu:1");
                final long block = allocator.alloc(SIZE);
                driver.memory().memsetD8(1, block, (byte) 3, SIZE);
                driver.devices().ctxSynchronize(1);
                allocator.free(block);
                factory.releaseAllocator(allocator);
            }
        }
    }

    @Test
    void theWorkThatIsWaitedForBeforePagesGoIsThatOfTheirOwnDevice() {
        try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                        .withDevices(2)
                        .withLaggingStreams()
                        .build();
                EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver))) {
            final Allocator allocator = factory.createAllocator(
                    memory(factory, 1), AllocatorOptions.EMPTY.with("arena.paged_reserves", "1", "test"));
            final long block = allocator.reserve(SIZE);
            final long stream = driver.streams().streamCreate(1);
            driver.memory().memsetD8Async(1, block, (byte) 1, SIZE, stream);
            allocator.as(RemappableReserves.class).orElseThrow().unmap(block);
            driver.streams().streamSynchronize(1, stream); // fails if the work finds no pages
            driver.streams().streamDestroy(1, stream);
            allocator.free(block);
            factory.releaseAllocator(allocator);
        }
    }

    private static MemoryInfo memory(EpFactory factory, int device) {
        return factory.discoverDevices().devices().get(device).defaultMemory().orElseThrow();
    }

    private static StreamAwareAllocator create(EpFactory factory, MemoryInfo memory) {
        final Allocator allocator = factory.createAllocator(memory, AllocatorOptions.EMPTY);
        assertThat(allocator.info()).isEqualTo(memory);
        return (StreamAwareAllocator) allocator;
    }
}
