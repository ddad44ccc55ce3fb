package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An arena of device memory that several threads use at once, each with a stream; it may create lanes. */
class DeviceArenaConcurrencyTest {
    private static final long MIB = 1 << 20;
    private static final long CAPACITY = 64 * MIB;

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
            .withLaggingStreams()
            .withoutContents()
            .withMemory(CAPACITY)
            .build();
    private final EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
    private final MemoryInfo memory =
            factory.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
    private final DeviceArena arena = (DeviceArena) factory.createAllocator(memory, AllocatorOptions.EMPTY);

    @AfterEach
    void close() {
        factory.releaseAllocator(arena);
        factory.close();
        driver.close();
    }

    /** Each thread on a stream of its own; they free one another's memory, too. */
    @Test
    void manyThreadsEndWithNothingLive() throws InterruptedException {
        final ConcurrentLinkedQueue<Long> passedOn = new ConcurrentLinkedQueue<>();
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        final Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            final Random random = new Random(i);
            threads[i] = Thread.ofPlatform().start(() -> {
                try (SyncStream stream = factory.createSyncStream(memory)) {
                    work(random, stream, passedOn);
                } catch (RuntimeException | Error e) {
                    failure.compareAndSet(null, e);
                }
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failure.get()).isNull();
        passedOn.forEach(arena::free);
        assertThat(arena.stats().bytesInUse()).isZero();
        assertThat(arena.shrink().bytesHeld()).isZero();
        assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
    }

    private void work(Random random, SyncStream stream, ConcurrentLinkedQueue<Long> passedOn) {
        final List<Long> live = new ArrayList<>();
        for (int step = 0; step < 3000; step++) {
            if (live.size() < 20 && random.nextInt(100) < 55) {
                live.add(arena.allocOnStream(1 + random.nextInt(60_000), stream));
            } else if (random.nextInt(10) == 0 && !live.isEmpty()) {
                passedOn.add(live.removeLast());
                final Long other = passedOn.poll();
                if (other != null) {
                    arena.free(other);
                }
            } else if (!live.isEmpty()) {
                arena.free(live.remove(random.nextInt(live.size())));
            }
            if (random.nextInt(500) == 0) {
                stream.onSessionRunEnd();
                arena.shrink();
            }
        }
        live.forEach(arena::free);
    }
}
