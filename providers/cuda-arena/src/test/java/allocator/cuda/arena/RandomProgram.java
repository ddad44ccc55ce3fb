package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaException;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;

/**
 * A random but well-behaved user of the provider, on a simulated device with lagging streams: two streams, an arena, a
 * pool, pinned and read-only memory. It uses its memory on streams, frees it while work is queued, passes it from
 * stream to stream by notifications, copies, shrinks and ends runs; and keeps its own account of what is live.
 *
 * <p>One call to the driver may fail. Then one of the program's own calls may throw, and it continues.
 */
final class RandomProgram {
    private static final int STEPS = 120;
    private static final long MAX_SIZE = 3 << 20;

    private final Random random;
    private final SimulatedCudaDriver driver;
    private final EpFactory factory;
    private final List<SyncStream> streams = new ArrayList<>();
    private final List<Allocator> allocators = new ArrayList<>();
    private final List<Block> live = new ArrayList<>();
    private int failures;

    /** What the program has allocated; the stream is {@code null} for none. */
    private record Block(Allocator allocator, long address, long byteSize, SyncStream stream) {}

    RandomProgram(long seed, SimulatedCudaDriver driver) {
        random = new Random(seed);
        this.driver = driver;
        factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
    }

    /** Runs from discovery to the end; the driver's close then reports leaks and hazards. */
    void run() {
        final EpDevice device = factory.discoverDevices().devices().getFirst();
        final MemoryInfo memory = device.defaultMemory().orElseThrow();
        open(memory, Map.of());
        open(memory, Map.of("arena.use_cuda_mempool", "1", "arena.max_mem", "268435456"));
        open(device.hostAccessibleMemory().orElseThrow(), Map.of());
        open(device.readOnlyMemory().orElseThrow(), Map.of());
        for (int i = 0; i < 2; i++) {
            streams.add(insist(() -> factory.createSyncStream(memory)));
        }
        for (int step = 0; step < STEPS; step++) {
            attempt(this::step);
            assertAccountsAgree();
        }
        live.forEach(block -> attempt(() -> block.allocator.free(block.address)));
        live.clear();
        streams.forEach(stream -> attempt(stream::onSessionRunEnd));
        assertAccountsAgree();
        streams.getFirst().close();
        allocators.forEach(allocator -> attempt(() -> factory.releaseAllocator(allocator)));
        streams.getLast().close();
        factory.close();
    }

    private void open(MemoryInfo memory, Map<String, String> options) {
        allocators.add(insist(() -> factory.createAllocator(memory, AllocatorOptions.of(options))));
    }

    /** What failed once works the second time. */
    private <T> T insist(Supplier<T> call) {
        try {
            return call.get();
        } catch (AllocatorException e) {
            failures++;
            return call.get();
        }
    }

    private void attempt(Runnable call) {
        try {
            call.run();
        } catch (AllocatorException | CudaException e) {
            failures++;
        }
        assertThat(failures).as("one failure is felt once").isLessThanOrEqualTo(1);
    }

    private void step() {
        final int choice = random.nextInt(100);
        if (choice < 40) {
            allocate();
        } else if (choice < 70) {
            free();
        } else if (choice < 78) {
            useElsewhere();
        } else if (choice < 84) {
            copy();
        } else if (choice < 90) {
            any(streams).onSessionRunEnd();
        } else if (choice < 96) {
            driver.controls().advance(any(streams).handle());
        } else if (any(allocators).as(ShrinkableAllocator.class).orElse(null)
                instanceof ShrinkableAllocator shrinkable) {
            shrinkable.shrink();
        }
    }

    private <T> T any(List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    private void allocate() {
        final Allocator allocator = any(allocators);
        final long byteSize = 1 + (long) (MAX_SIZE * Math.pow(random.nextDouble(), 4));
        if (allocator.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware
                && random.nextInt(4) > 0) {
            final SyncStream stream = any(streams);
            final long address = streamAware.allocOnStream(byteSize, stream);
            live.add(new Block(allocator, address, byteSize, stream));
            work(address, byteSize, stream);
        } else {
            final long address = random.nextInt(4) == 0 ? allocator.reserve(byteSize) : allocator.alloc(byteSize);
            live.add(new Block(allocator, address, byteSize, null));
        }
    }

    private void work(long address, long byteSize, SyncStream stream) {
        driver.memory().memsetD8Async(0, address, (byte) 1, byteSize, stream.handle());
    }

    /** A free that fails has freed all the same. */
    private void free() {
        if (!live.isEmpty()) {
            final Block block = live.remove(random.nextInt(live.size()));
            block.allocator.free(block.address);
        }
    }

    /** Lets the other stream work on a block, and its own stream wait for that. */
    private void useElsewhere() {
        final List<Block> streamed =
                live.stream().filter(block -> block.stream != null).toList();
        if (streamed.isEmpty()) {
            return;
        }
        final Block block = any(streamed);
        final SyncStream other = streams.get(block.stream.equals(streams.getFirst()) ? 1 : 0);
        if (order(block.stream, other)) {
            work(block.address, block.byteSize, other);
            // Whatever fails here, the work must not meet the block's next user.
            if (!order(other, block.stream)) {
                insist(() -> {
                    other.flush();
                    return other;
                });
            }
        }
    }

    /** Whether the consumer was made to wait; if not, a call failed. */
    private boolean order(SyncStream producer, SyncStream consumer) {
        final SyncNotification[] notification = new SyncNotification[1];
        try {
            notification[0] = producer.createNotification();
            notification[0].activate();
            notification[0].waitOnDevice(consumer);
            return true;
        } catch (AllocatorException e) {
            failures++;
            return false;
        } finally {
            if (notification[0] != null) {
                notification[0].close();
            }
        }
    }

    private void copy() {
        if (live.isEmpty()) {
            return;
        }
        final Block block = any(live);
        if (block.stream != null) {
            final Allocator pinned = allocators.get(2);
            final long staging = pinned.alloc(block.byteSize);
            try {
                factory.dataTransfer()
                        .orElseThrow()
                        .copy(
                                new MemoryRange(block.allocator.info(), block.address, block.byteSize),
                                new MemoryRange(pinned.info(), staging, block.byteSize),
                                block.stream);
                insist(() -> {
                    block.stream.flush();
                    return block.stream;
                });
            } finally {
                pinned.free(staging);
            }
        }
    }

    private void assertAccountsAgree() {
        for (Allocator allocator : allocators) {
            final long requested = live.stream()
                    .filter(block -> block.allocator.equals(allocator))
                    .mapToLong(Block::byteSize)
                    .sum();
            final var stats = insist(allocator::stats);
            assertThat(stats.requestedBytesInUse()).isEqualTo(requested);
            assertThat(stats.bytesInUse()).isBetween(requested, stats.bytesHeld());
            assertThat(stats.bytesHeld()).isLessThanOrEqualTo(stats.peakBytesHeld());
        }
    }

    /** Whether a failure of the driver reached the program. */
    boolean hasFelt() {
        return failures > 0;
    }
}
