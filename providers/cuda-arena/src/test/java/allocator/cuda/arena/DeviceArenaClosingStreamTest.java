package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.FaultyDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A stream that another thread closes while an arena of device memory allocates on it. */
class DeviceArenaClosingStreamTest {
    private static final long BYTES = 1 << 20;
    private static final Duration LONG = Duration.ofSeconds(10);

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withLaggingStreams().build();
    private final EpFactory factory =
            new CudaArenaFactory(() -> new CudaAvailability.Available(new FaultyDriver(driver, this::called)));
    private final MemoryInfo memory =
            factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
    private final DeviceArena arena = (DeviceArena) factory.createAllocator(memory, AllocatorOptions.EMPTY);
    private final CudaSyncStream stream = (CudaSyncStream) factory.createSyncStream(memory);
    private final CountDownLatch isWorkDone = new CountDownLatch(1);
    private final Thread closing = Thread.ofPlatform().daemon().unstarted(stream::close);
    private volatile Runnable duringAllocation = () -> {};

    private void called(String function) {
        if (function.equals("memAlloc")) {
            duringAllocation.run();
        }
    }

    @AfterEach
    void close() {
        isWorkDone.countDown();
        stream.close();
        factory.releaseAllocator(arena);
        factory.close();
        driver.close();
    }

    private void assertThatAllocationIsRejected() {
        assertTimeoutPreemptively(
                LONG,
                () -> assertThatIllegalStateException()
                        .isThrownBy(() -> arena.allocOnStream(BYTES, stream))
                        .withMessageContaining("closed"));
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    private void assertThatMemoryIsAvailable() {
        final long extensions = arena.stats().numArenaExtensions();
        arena.free(arena.alloc(BYTES));
        try (SyncStream other = factory.createSyncStream(memory)) {
            arena.free(arena.allocOnStream(BYTES, other));
        }
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(extensions);
        assertThat(arena.shrink().bytesHeld()).isZero();
    }

    @Test
    void isNotWaitedFor() throws InterruptedException {
        driver.streams().launchHostFunction(0, stream.handle(), () -> {
            try {
                isWorkDone.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        duringAllocation = () -> {
            closing.start();
            while (!stream.isClosed()) {
                Thread.onSpinWait();
            }
        };
        assertThatAllocationIsRejected();
        duringAllocation = () -> {};
        assertThat(arena.shrink().bytesHeld()).as("its work may use the memory").isPositive();

        isWorkDone.countDown();
        closing.join();
        assertThatMemoryIsAvailable();
    }

    @Test
    void mayEndBeforeTheMemoryIsBoundToIt() {
        duringAllocation = stream::close;
        assertThatAllocationIsRejected();
        duringAllocation = () -> {};
        assertThatMemoryIsAvailable();
    }
}
