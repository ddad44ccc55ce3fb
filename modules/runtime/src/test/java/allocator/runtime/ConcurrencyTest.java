package allocator.runtime;

import static allocator.testkit.FakeMemory.location;
import static allocator.testkit.FakeMemory.memory;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeFactory;
import allocator.testkit.ForwardingFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads at once. The fakes reject use after release, so an address used too late fails these tests. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ConcurrencyTest {
    private static final MemoryLocation GPU = location(DeviceType.GPU, 0);
    private static final int THREADS = 8;

    private final Environment environment = Environments.empty();
    private final FakeFactory gpu = FakeFactory.gpu("Cuda");

    ConcurrencyTest() {
        environment.register(gpu);
    }

    private static ExecutorService threads(boolean virtual) {
        return virtual ? Executors.newVirtualThreadPerTaskExecutor() : Executors.newFixedThreadPool(THREADS);
    }

    private static void all(boolean virtual, int tasks, CheckedTask task) throws Exception {
        final List<Future<?>> running = new ArrayList<>();
        try (ExecutorService executor = threads(virtual)) {
            for (int i = 0; i < tasks; i++) {
                final int number = i;
                running.add(executor.submit(() -> {
                    task.run(number);
                    return null;
                }));
            }
        }
        for (final Future<?> future : running) {
            future.get();
        }
    }

    private interface CheckedTask {
        void run(int number) throws Exception;
    }

    /** Sessions open, run, shrink and close, while blocks of closed sessions are freed by other threads. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void sessionsComeAndGoWhileMemoryLives(boolean virtual) throws Exception {
        record Block(ManagedAllocator allocator, long address) {}
        final ConcurrentLinkedQueue<Block> orphans = new ConcurrentLinkedQueue<>();
        all(virtual, THREADS, number -> {
            final Random random = new Random(number);
            for (int i = 0; i < 60; i++) {
                final SessionOptions.Builder options = SessionOptions.builder()
                        .option("session.use_env_allocators", Integer.toString(random.nextInt(2)));
                if (random.nextBoolean()) {
                    options.option("ep.cuda.arena.max_mem", "1000000");
                }
                try (Session session = environment.openSession(options.build())) {
                    session.run(RunOptions.builder().shrink("gpu:0").build(), run -> {
                        for (int j = 0; j < 20; j++) {
                            final long address =
                                    run.allocator().allocOnStream(1 + random.nextInt(100), run.stream(j % 3));
                            if (random.nextInt(4) == 0) {
                                orphans.add(new Block(run.allocator(), address));
                            } else {
                                run.allocator().free(address);
                            }
                        }
                    });
                    session.shrink(GPU);
                    environment.shrink(GPU);
                }
                for (int j = random.nextInt(8); j > 0; j--) {
                    final Block block = orphans.poll();
                    if (block != null) {
                        block.allocator().free(block.address());
                    }
                }
                if (random.nextInt(10) == 0) {
                    environment.createSharedAllocator(
                            environment.devices().getFirst(),
                            gpu.created().getFirst().info(),
                            AllocatorOptions.of(Map.of("arena.max_mem", "1000000")));
                }
            }
        });
        orphans.forEach(block -> block.allocator().free(block.address()));
        environment.close();
        assertThat(gpu.references()).isZero();
        assertThat(gpu.openStreams()).isZero();
        assertThat(gpu.created())
                .allSatisfy(allocator -> assertThat(allocator.live()).isEmpty());
    }

    /** Closing against allocating: each allocation either fails as closed or is freed in a living allocator. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCloseNeverOvertakesAnAllocation(boolean virtual) throws Exception {
        for (int round = 0; round < 300; round++) {
            final Session session = environment.openSession(SessionOptions.builder()
                    .option("ep.cuda.arena.max_mem", "1000000")
                    .build());
            final FakeAllocator target = gpu.created().stream()
                    .filter(allocator -> allocator.info().name().equals("Cuda"))
                    .reduce((first, second) -> second)
                    .orElseThrow();
            final CountDownLatch begin = new CountDownLatch(1);
            all(virtual, 4, number -> {
                if (number == 0) {
                    begin.countDown();
                    session.close();
                    return;
                }
                begin.await();
                final List<Long> blocks = new ArrayList<>();
                try {
                    while (true) {
                        blocks.add(session.allocator().alloc(8));
                    }
                } catch (AllocatorClosedException e) {
                    assertThat(e)
                            .as("rejected by the runtime, before the provider")
                            .hasMessageContaining("is closed");
                    blocks.forEach(session.allocator()::free);
                }
            });
            assertThat(target.isClosed()).isTrue();
            assertThat(target.live()).isEmpty();
        }
        environment.close();
    }

    /** A counter that loses or invents a block would end too early or never. */
    @Test
    void theLastFreeOfManyThreadsReleasesOnce() throws Exception {
        for (int round = 0; round < 200; round++) {
            final Session session = environment.openSession(SessionOptions.DEFAULT);
            final long[] blocks = new long[THREADS * 4];
            for (int i = 0; i < blocks.length; i++) {
                blocks[i] = session.allocator().alloc(1);
            }
            session.close();
            assertThat(gpu.references()).isEqualTo(3);
            all(false, THREADS, number -> {
                for (int i = 0; i < 4; i++) {
                    session.allocator().free(blocks[number * 4 + i]);
                }
            });
            assertThat(gpu.references()).isEqualTo(2);
        }
        environment.close();
    }

    /** Unregistering and closing race with opening: in either order nothing is used after its end. */
    @Test
    void unregisteringRacesWithOpening() throws Exception {
        final AtomicLong opened = new AtomicLong();
        final AtomicLong rejected = new AtomicLong();
        for (int round = 0; round < 100; round++) {
            final FakeFactory cpu = FakeFactory.cpu("Cpu");
            environment.register(cpu);
            all(true, 3, number -> {
                try {
                    if (number == 0) {
                        environment.unregister("Cpu");
                    } else {
                        try (Session session = environment.openSession(
                                SessionOptions.builder().provider("Cpu").build())) {
                            session.allocator().free(session.allocator().alloc(1));
                            opened.incrementAndGet();
                        }
                    }
                } catch (StillInUseException | IllegalArgumentException e) {
                    rejected.incrementAndGet();
                }
            });
            if (!cpu.isClosed()) {
                environment.unregister("Cpu");
            }
            assertThat(cpu.isClosed()).isTrue();
            assertThat(cpu.references()).isZero();
        }
        assertThat(opened.get() + rejected.get()).isGreaterThanOrEqualTo(200);
        environment.close();
    }

    /** An allocation either comes first, and keeps the provider, or is rejected. */
    @Test
    void unregisteringRacesWithAllocating() throws Exception {
        final AtomicLong begun = new AtomicLong();
        for (int round = 1; round <= 1000; round++) {
            environment.register(FakeFactory.cpu("Cpu"));
            final ManagedAllocator shared =
                    environment.sharedAllocator(location(DeviceType.CPU, 0)).orElseThrow();
            final long number = round;
            final CompletableFuture<Long> block = new CompletableFuture<>();
            final Thread allocating = Thread.ofPlatform().start(() -> {
                while (begun.get() < number) {
                    Thread.onSpinWait();
                }
                block.complete(tryAlloc(shared));
            });
            boolean isUnregistered = true;
            begun.set(number);
            for (int i = round % 100; i > 0; i--) {
                Thread.onSpinWait();
            }
            try {
                environment.unregister("Cpu");
            } catch (StillInUseException e) {
                isUnregistered = false;
            }
            final long address = block.get();
            allocating.join();
            assertThat(isUnregistered).isEqualTo(address == 0);
            if (address != 0) {
                shared.free(address);
                environment.unregister("Cpu");
            }
        }
        environment.close();
    }

    /** That of a released allocator, whose last block another thread has freed. */
    @Test
    void unregisteringWaitsForAReturn() throws Exception {
        final CountDownLatch isReturning = new CountDownLatch(1);
        final CountDownLatch mayReturn = new CountDownLatch(1);
        final FakeFactory cpu = FakeFactory.cpu("Cpu");
        environment.register(new ForwardingFactory(cpu) {
            @Override
            public void releaseAllocator(Allocator allocator) {
                isReturning.countDown();
                try {
                    mayReturn.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                super.releaseAllocator(allocator);
            }
        });
        final MemoryLocation host = location(DeviceType.CPU, 0);
        final ManagedAllocator shared = environment.sharedAllocator(host).orElseThrow();
        final long block = shared.alloc(1);
        environment.releaseSharedAllocator(host);
        final Thread freeing = Thread.ofPlatform().start(() -> shared.free(block));
        isReturning.await();
        final Thread ending = Thread.ofPlatform().start(() -> {
            LockSupport.parkNanos(50_000_000);
            mayReturn.countDown();
        });
        environment.unregister("Cpu");
        assertThat(cpu.references()).isZero();
        assertThat(cpu.isClosed()).isTrue();
        freeing.join();
        ending.join();
        environment.close();
    }

    private static long tryAlloc(ManagedAllocator allocator) {
        try {
            return allocator.alloc(1);
        } catch (AllocatorClosedException e) {
            return 0;
        }
    }

    /** A live block keeps the provider and the application's allocator: allocations never notice the attempts. */
    @Test
    void allocationsBesideRejectedUnregisteringsAreMade() throws Exception {
        final ManagedAllocator own =
                environment.registerAllocator(new FakeAllocator(memory("Cuda", DeviceType.GPU, 0, MemoryType.DEFAULT)));
        final long block = own.alloc(1);
        try (Session session = environment.openSession(
                SessionOptions.builder().provider("Cuda").build())) {
            final AtomicLong allocating = new AtomicLong(3);
            all(false, 4, number -> {
                if (number > 0) {
                    try {
                        for (int i = 0; i < 20_000; i++) {
                            own.free(own.alloc(1));
                        }
                    } finally {
                        allocating.decrementAndGet();
                    }
                }
                while (number == 0 && allocating.get() > 0) {
                    assertThatThrownBy(() -> environment.unregisterAllocator(GPU))
                            .isInstanceOf(StillInUseException.class);
                    assertThatThrownBy(environment::close).isInstanceOf(StillInUseException.class);
                }
            });
            assertThat(session.isClosed()).isFalse();
        }
        own.free(block);
        environment.close();
    }
}
