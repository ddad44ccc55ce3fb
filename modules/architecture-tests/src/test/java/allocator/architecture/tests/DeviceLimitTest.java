package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.resource.DeviceRuntime;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.spi.AllocatorException;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The limit of a whole device, over the arenas and pools of all sessions and providers. */
class DeviceLimitTest {
    private static final long MIB = 1 << 20;
    private static final int THREADS = 16;
    private static final int STEPS = 400;

    /** A pool that the driver extends may hold one granule more until its call ends (S-03); there are two pools. */
    private static final long MOST_EXCESS = 2 * 32 * MIB;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withMemory(1024 * MIB).build();

    @AfterEach
    void close() {
        try (Environment environment = open("max")) {
            assertThat(budget(environment).isLimited()).isFalse();
        }
        driver.close();
    }

    private Environment open(String limit) {
        final Environment environment = Environment.builder()
                .modulePathProviders(false)
                .option("device.cuda:0.max_mem", limit)
                .build();
        try {
            environment.register(driver.provider("cuda-arena"));
            environment.register(driver.provider("cuda-mempool"));
        } catch (Throwable e) {
            environment.close();
            throw e;
        }
        return environment;
    }

    private static MemoryInfo memory(Environment environment) {
        return environment.devices().getFirst().device().defaultMemory().orElseThrow();
    }

    private static Budget budget(Environment environment) {
        return Budget.ofMemory(memory(environment));
    }

    /** A thread's way to memory: of a session, or of the runtime of the device. */
    private interface Memory {
        long alloc(long byteSize);

        void free(long address);
    }

    private static Memory of(ManagedAllocator allocator) {
        return new Memory() {
            @Override
            public long alloc(long byteSize) {
                return allocator.alloc(byteSize);
            }

            @Override
            public void free(long address) {
                allocator.free(address);
            }
        };
    }

    private static Memory of(StreamOrderedMemoryResource resource, SyncStream stream) {
        final Map<Long, Long> sizes = new HashMap<>();
        return new Memory() {
            @Override
            public long alloc(long byteSize) {
                final long address = resource.allocate(byteSize, 256, stream);
                sizes.put(address, byteSize);
                return address;
            }

            @Override
            public void free(long address) {
                resource.deallocate(address, sizes.remove(address), 256, stream);
            }
        };
    }

    private static Memory of(TrackedMemory memory, SyncStream stream) {
        final Map<Long, TrackedBlock> blocks = new HashMap<>();
        return new Memory() {
            @Override
            public long alloc(long byteSize) {
                final TrackedBlock block = memory.allocate(byteSize, stream, "random");
                blocks.put(block.address(), block);
                return block.address();
            }

            @Override
            public void free(long address) {
                memory.free(blocks.remove(address));
            }
        };
    }

    @Test
    void randomProgramsOfTwoArenasAPoolAndARuntimeNeverHoldMore() throws Exception {
        try (Environment environment = open("160m")) {
            final Budget budget = budget(environment);
            final long before = budget.status().charge();
            final long usedBefore = used();
            final List<Session> sessions = List.of(
                    environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0")),
                    environment.openSession("cuda-arena", Map.of("arena.policy", "compact")),
                    environment.openSession("cuda-mempool", Map.of()));
            final DeviceRuntime runtime = DeviceRuntime.of(driver, 0);
            final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
            final List<Future<Integer>> served = new ArrayList<>();
            final List<SyncStream> streams = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                final SyncStream stream = runtime.streams().acquire();
                streams.add(stream);
                final Memory memory = switch (i % 5) {
                    case 0, 1, 2 -> of(sessions.get(i % 5).allocator());
                    case 3 -> of(runtime.resource(), stream);
                    default -> of(runtime.tracked(), stream);
                };
                final int seed = i;
                served.add(threads.submit(() -> play(memory, runtime, usedBefore, new Random(seed))));
            }
            threads.shutdown();
            assertThat(threads.awaitTermination(2, TimeUnit.MINUTES)).isTrue();
            for (final Future<Integer> each : served) {
                assertThat(each.get()).isPositive();
            }
            streams.forEach(SyncStream::flush);
            streams.forEach(runtime.streams()::release);
            runtime.tracked().reap();
            assertThat(runtime.status().pending()).isZero();
            runtime.resource().shrink();
            sessions.forEach(session -> session.allocator().shrink());
            assertThat(budget.status().charge() - before)
                    .isEqualTo(sessions.stream()
                            .mapToLong(session -> session.allocator().stats().bytesHeld())
                            .sum());
            runtime.close();
            sessions.forEach(Session::close);
            assertThat(budget.status().charge()).isEqualTo(before);
            assertThat(used()).isEqualTo(usedBefore);
        }
    }

    /** Bytes that the simulated device has handed out. */
    private long used() {
        final var info = driver.memory().memGetInfo(0);
        return info.totalByteSize() - info.freeByteSize();
    }

    /** Returns how many requests were served. */
    private int play(Memory memory, DeviceRuntime runtime, long usedBefore, Random random) {
        final List<Long> live = new ArrayList<>();
        int served = 0;
        for (int i = 0; i < STEPS; i++) {
            if (live.size() > 3 || (!live.isEmpty() && random.nextBoolean())) {
                memory.free(live.remove(random.nextInt(live.size())));
            } else {
                try {
                    live.add(memory.alloc(1 + random.nextLong(6 * MIB)));
                    served++;
                } catch (OutOfMemoryException e) {
                    assertThat(e).hasMessageContaining("gpu:0");
                }
            }
            final DeviceRuntime.Status status = runtime.status();
            assertThat(status.live() + status.pending() + status.available()).isEqualTo(status.limit());
            assertThat(used() - usedBefore).isLessThanOrEqualTo(status.limit() + MOST_EXCESS);
        }
        live.forEach(memory::free);
        return served;
    }

    @Test
    void idleMemoryOfAnotherSessionMakesRoom() {
        try (Environment environment = open("64m");
                Session first = environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0"));
                Session second = environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0"))) {
            first.allocator().free(first.allocator().alloc(40 * MIB));
            assertThat(first.allocator().stats().bytesHeld()).isGreaterThanOrEqualTo(40 * MIB);
            second.allocator().free(second.allocator().alloc(40 * MIB));
            assertThat(first.allocator().stats().bytesHeld()).isZero();
        }
    }

    @Test
    void oneShrinkServesAllThreadsThatWaitedForIt() throws Exception {
        try (Environment environment = open("128m");
                Session idle = environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0"));
                DeviceRuntime runtime = DeviceRuntime.of(driver, 0);
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            for (int round = 0; round < 30; round++) {
                idle.allocator().free(idle.allocator().alloc(120 * MIB));
                final CyclicBarrier together = new CyclicBarrier(8);
                final Callable<Long> request = () -> {
                    together.await();
                    return runtime.resource().allocate(MIB);
                };
                final List<Long> blocks = new ArrayList<>();
                for (final Future<Long> block : threads.invokeAll(Collections.nCopies(8, request))) {
                    blocks.add(block.get());
                }
                blocks.forEach(block -> runtime.resource().deallocate(block, MIB));
                runtime.resource().shrink();
            }
        }
    }

    @Test
    void anInterruptedThreadIsServedToo() {
        try (Environment environment = open("128m");
                Session idle = environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0"));
                Session other = environment.openSession("cuda-arena", Map.of())) {
            idle.allocator().free(idle.allocator().alloc(120 * MIB));
            Thread.currentThread().interrupt();
            other.allocator().free(other.allocator().alloc(40 * MIB));
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void aRequestThatNobodyCanMakeRoomForSaysWhoHoldsWhat() {
        try (Environment environment = open("64m");
                Session first = environment.openSession("cuda-arena", Map.of());
                Session second = environment.openSession("cuda-mempool", Map.of())) {
            final long block = first.allocator().alloc(48 * MIB);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> second.allocator().alloc(40 * MIB))
                    .satisfies(e -> assertThat(e.getMessage() + e.dump())
                            .contains(
                                    "device.gpu:0.max_mem",
                                    "64.0 MiB",
                                    first.name() + " holds",
                                    second.name() + " holds"));
            first.allocator().free(block);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0%", "101%", "2g", "-1", "half", "%"})
    void aValueOutOfRangeIsRejectedByName(String value) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> open(value))
                .withMessageContaining("device.cuda:0.max_mem")
                .withMessageContaining(value);
    }

    @ParameterizedTest
    @ValueSource(strings = {"device.gpu.max_mem", "device.GPU:0.max_mem", "device.gpu:0.max_men"})
    void aKeyThatNamesNoDeviceIsRejectedWithTheForm(String key) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> Environment.builder().option(key, "1g"))
                .withMessageContaining(key)
                .withMessageContaining("device.<device>.max_mem");
    }

    @Test
    void aShareIsOfTheDevice() {
        try (Environment environment = open("25%")) {
            assertThat(budget(environment).status().limit()).isEqualTo(256 * MIB);
        }
    }

    @Test
    void aRegistrationThatFailsSetsNoLimit() {
        driver.controls().failAlways(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, CudaResult.OUT_OF_MEMORY);
        assertThatExceptionOfType(AllocatorException.class).isThrownBy(() -> open("64m"));
        driver.controls().clearFailures();
        try (Environment environment =
                Environment.builder().modulePathProviders(false).build()) {
            environment.register(driver.provider("cuda-arena"));
            assertThat(budget(environment).isLimited()).isFalse();
        }
    }

    @Test
    void aLimitOfADeviceThatNoProviderHasIsListedAsUnused() {
        try (Environment environment = Environment.builder()
                .modulePathProviders(false)
                .option("device.gpu:3.max_mem", "1g")
                .build()) {
            environment.register(driver.provider("cuda-arena"));
            assertThat(environment.unusedSettings())
                    .singleElement()
                    .asString()
                    .contains("device.gpu:3.max_mem", "gpu:0");
        }
    }
}
