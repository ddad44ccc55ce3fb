package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Programs in which ONNX Runtime 32342 shows: its arena takes free memory without a stream for memory that no stream
 * uses, and hands it out while work is queued on it. The simulated device reports a use during the work of another.
 */
class OnnxRuntime32342Test {
    private static final long MIB = 1 << 20;
    private static final int PROGRAMS_OF_A_DEVICE = 500;

    private static EpFactory open(SimulatedCudaDriver driver) {
        return new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
    }

    private static Allocator create(EpFactory factory, int device, Map<String, String> options) {
        final MemoryInfo memory =
                factory.discoverDevices().devices().get(device).defaultMemory().orElseThrow();
        return factory.createAllocator(memory, AllocatorOptions.of(options));
    }

    @Test
    void noProgramOfAThousandReusesMemoryInFlight() {
        reuseAcrossStreams(1_000);
    }

    @Tag("thorough")
    @Test
    void noProgramOfAMillionReusesMemoryInFlight() {
        reuseAcrossStreams(1_000_000);
    }

    private static void reuseAcrossStreams(int count) {
        long taken = 0;
        for (int first = 0; first < count; first += PROGRAMS_OF_A_DEVICE) {
            try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                            .withLaggingStreams()
                            .withoutContents()
                            .build();
                    EpFactory factory = open(driver)) {
                final Allocator arena =
                        create(factory, 0, Map.of("arena.initial_chunk_size_bytes", Long.toString(MIB)));
                final Reuse programs = new Reuse(driver, factory, (StreamAwareAllocator) arena, first);
                for (int i = 0; i < PROGRAMS_OF_A_DEVICE; i++) {
                    taken += programs.run();
                }
                programs.streams.forEach(SyncStream::close);
                factory.releaseAllocator(arena);
            }
        }
        assertThat(taken).as("addresses that were used before").isGreaterThan(count);
    }

    /** Two streams and a thread without one, which pass 1 MiB around. */
    private static final class Reuse {
        private static final int STEPS = 16;

        private record Block(long address, boolean isOnStream) {}

        private final SimulatedCudaDriver driver;
        private final StreamAwareAllocator arena;
        private final Random random;
        private final List<SyncStream> streams;
        private final List<Block> live = new ArrayList<>();
        private final List<Long> freed = new ArrayList<>();

        Reuse(SimulatedCudaDriver driver, EpFactory factory, StreamAwareAllocator arena, int seed) {
            this.driver = driver;
            this.arena = arena;
            random = new Random(seed);
            streams = List.of(factory.createSyncStream(arena.info()), factory.createSyncStream(arena.info()));
        }

        /** Returns how many blocks were at the address of one freed before. */
        int run() {
            int reused = 0;
            for (int step = 0; step < STEPS; step++) {
                final int choice = random.nextInt(8);
                if (choice < 4) {
                    live.add(allocate((64L << 10) << random.nextInt(4)));
                    reused += freed.contains(live.getLast().address) ? 1 : 0;
                } else if (choice < 7 && !live.isEmpty()) {
                    free(live.remove(random.nextInt(live.size())));
                } else if (random.nextInt(4) > 0) {
                    order(any(), any());
                } else {
                    any().onSessionRunEnd();
                }
            }
            live.forEach(this::free);
            live.clear();
            freed.clear();
            streams.forEach(SyncStream::onSessionRunEnd);
            return reused;
        }

        /** Memory without a stream is freed when no queued work uses it (T-06). */
        private void free(Block block) {
            if (!block.isOnStream) {
                driver.devices().ctxSynchronize(0);
            }
            freed.add(block.address);
            arena.free(block.address);
        }

        private SyncStream any() {
            return streams.get(random.nextInt(streams.size()));
        }

        private Block allocate(long byteSize) {
            if (random.nextInt(3) == 0) {
                final long address = arena.alloc(byteSize);
                driver.memory().memsetD8(0, address, (byte) 1, byteSize);
                return new Block(address, false);
            }
            final SyncStream stream = any();
            final long address = arena.allocOnStream(byteSize, stream);
            driver.memory().memsetD8Async(0, address, (byte) 1, byteSize, stream.handle());
            return new Block(address, true);
        }

        private static void order(SyncStream producer, SyncStream consumer) {
            try (SyncNotification done = producer.createNotification()) {
                done.activate();
                done.waitOnDevice(consumer);
            }
        }
    }
}
