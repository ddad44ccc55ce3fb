package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.EpFactory;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LanesTest {
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
    private DeviceArena arena = create(Map.of());
    private final SyncStream first = factory.createSyncStream(memory);
    private final SyncStream second = factory.createSyncStream(memory);

    private DeviceArena create(Map<String, String> options) {
        return (DeviceArena) factory.createAllocator(memory, AllocatorOptions.of(options));
    }

    private void reopen(String key, long value) {
        factory.releaseAllocator(arena);
        arena = create(Map.of(key, Long.toString(value)));
    }

    @AfterEach
    void close() {
        factory.releaseAllocator(arena);
        first.close();
        second.close();
        factory.close();
        driver.close();
    }

    @Test
    void streamsThatTakeTurnsStayTogether() {
        for (int i = 0; i < 1000; i++) {
            final long one = arena.allocOnStream(1000, first);
            final long other = arena.allocOnStream(1000, second);
            arena.free(one);
            arena.free(other);
        }
        assertThat(arena.laneCount()).isEqualTo(1);
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
    }

    @Test
    void oneStreamOfManyThreadsStaysWhereItIs() throws InterruptedException {
        final Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofPlatform().start(() -> {
                for (int k = 0; k < 2000; k++) {
                    arena.free(arena.allocOnStream(1000, first));
                }
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(arena.laneCount()).isEqualTo(1);
    }

    @Test
    void memoryIsFreedWhereItCameFrom() {
        final long before = arena.allocOnStream(1000, first);
        arena.moveOut(first);
        final long after = arena.allocOnStream(1000, first);
        final long mine = arena.alloc(1000);
        assertThat(arena.laneCount()).isEqualTo(2);
        assertThat(arena.stats().requestedBytesInUse()).isEqualTo(3000);
        assertThat(arena.stats().bytesHeld()).isEqualTo(2 * MIB);
        arena.free(before);
        arena.free(after);
        arena.free(mine);
        final AllocatorStats stats = arena.stats();
        assertThat(stats.bytesInUse()).isZero();
        assertThat(stats.freeBytes()).isEqualTo(stats.bytesHeld());
        assertThat(stats.numAllocs()).isEqualTo(3);
        assertThat(arena.shrink()).isEqualTo(new ShrinkReport(2 * MIB, 2, 0, 0, 0));
    }

    @Test
    void badFreesAreToldApartInEveryLane() {
        arena.moveOut(first);
        final long address = arena.allocOnStream(1000, first);
        assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> arena.free(address + 256));
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> arena.free(address + CAPACITY));
        arena.free(address);
        assertThatExceptionOfType(InvalidFreeException.class)
                .isThrownBy(() -> arena.free(address))
                .isInstanceOf(DoubleFreeException.class);
        arena.shrink();
        assertThatExceptionOfType(InvalidFreeException.class).isThrownBy(() -> arena.free(address));
    }

    @Test
    void underPressureLanesServeAndGiveBack() {
        arena.moveOut(first);
        arena.moveOut(second);
        final long most = arena.allocOnStream(CAPACITY - 2 * MIB, first);
        arena.free(most);
        first.onSessionRunEnd();
        final long chunk = arena.allocOnStream(CAPACITY - 2 * MIB, second);
        assertThat(chunk).isEqualTo(most);
        arena.free(chunk);
        second.onSessionRunEnd();
        // Larger than any lane has free: all must go back first.
        final long all = arena.allocOnStream(CAPACITY, second);
        arena.free(all);
        second.onSessionRunEnd();
        arena.free(arena.alloc(CAPACITY));
        arena.free(arena.reserve(CAPACITY));
        assertThat(arena.stats().numFailedAllocs()).isZero();
    }

    @Test
    void theLimitHoldsForAllLanesTogether() {
        reopen("arena.max_mem", 4 * MIB);
        arena.moveOut(first);
        arena.moveOut(second);
        final long one = arena.allocOnStream(2 * MIB, first);
        final long other = arena.allocOnStream(2 * MIB, second);
        assertThat(arena.stats().bytesHeld()).isEqualTo(4 * MIB);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.alloc(1))
                .satisfies(e -> {
                    assertThat(e.shortage().limit()).isEqualTo(4 * MIB);
                    assertThat(e.shortage().inUse()).isEqualTo(4 * MIB);
                    assertThat(e.shortage().held()).isEqualTo(4 * MIB);
                });
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(1));
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.allocOnStream(1, first));
        assertThat(arena.stats().numFailedAllocs()).isEqualTo(3);
        arena.free(one);
        arena.free(arena.reserve(2 * MIB));
        arena.free(other);
        assertThat(arena.stats().peakBytesHeld()).isEqualTo(4 * MIB);
    }

    @Test
    void aLaneOfAClosedStreamIsUsedAgain() {
        for (int i = 0; i < 10; i++) {
            try (SyncStream brief = factory.createSyncStream(memory)) {
                arena.moveOut(brief);
                arena.free(arena.allocOnStream(MIB, brief));
            }
        }
        assertThat(arena.laneCount()).isEqualTo(2);
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB);
    }

    @Test
    void memoryThatCannotGoBackStaysInTheBudget() {
        reopen("arena.max_mem", 4 * MIB);
        arena.moveOut(first);
        arena.free(arena.allocOnStream(4 * MIB, first));
        first.onSessionRunEnd();
        driver.failAlways(CudaFunction.MEM_FREE, 999);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(arena::shrink);
        assertThat(arena.stats().bytesHeld()).isEqualTo(4 * MIB);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(MIB));
        driver.clearFailures();
        arena.shrink();
        assertThat(arena.stats().bytesHeld()).isZero();
        arena.free(arena.alloc(MIB));
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
                    if (random.nextInt(3) > 0) {
                        arena.moveOut(stream);
                    }
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
        assertThat(driver.memGetInfo(0).freeByteSize()).isEqualTo(CAPACITY);
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
