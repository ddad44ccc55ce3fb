package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.provider.support.budget.Budget;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.spi.AllocatorException;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
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

    @Test
    void randomProgramsOfTwoArenasAndAPoolNeverHoldMore() throws Exception {
        try (Environment environment = open("96m")) {
            final Budget budget = budget(environment);
            final long before = budget.status().charge();
            final List<Session> sessions = List.of(
                    environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0")),
                    environment.openSession("cuda-arena", Map.of("arena.policy", "compact")),
                    environment.openSession("cuda-mempool", Map.of()));
            final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
            final List<Future<Integer>> served = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                final ManagedAllocator allocator = sessions.get(i % 3).allocator();
                final int seed = i;
                served.add(threads.submit(() -> play(allocator, budget, new Random(seed))));
            }
            threads.shutdown();
            assertThat(threads.awaitTermination(2, TimeUnit.MINUTES)).isTrue();
            for (final Future<Integer> each : served) {
                assertThat(each.get()).isPositive();
            }
            sessions.forEach(session -> session.allocator().shrink());
            assertThat(budget.status().charge() - before)
                    .isEqualTo(sessions.stream()
                            .mapToLong(session -> session.allocator().stats().bytesHeld())
                            .sum());
            sessions.forEach(Session::close);
            assertThat(budget.status().charge()).isEqualTo(before);
        }
    }

    /** Returns how many requests were served. */
    private static int play(ManagedAllocator allocator, Budget budget, Random random) {
        final List<Long> live = new ArrayList<>();
        int served = 0;
        for (int i = 0; i < STEPS; i++) {
            if (live.size() > 3 || (!live.isEmpty() && random.nextBoolean())) {
                allocator.free(live.remove(random.nextInt(live.size())));
            } else {
                try {
                    live.add(allocator.alloc(1 + random.nextLong(6 * MIB)));
                    served++;
                } catch (OutOfMemoryException e) {
                    assertThat(e).hasMessageContaining("gpu:0");
                }
            }
            final Budget.Status status = budget.status();
            assertThat(status.charge()).isLessThanOrEqualTo(status.limit());
        }
        live.forEach(allocator::free);
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
    void aRequestThatNobodyCanMakeRoomForSaysWhoHoldsWhat() {
        try (Environment environment = open("64m");
                Session first = environment.openSession("cuda-arena", Map.of());
                Session second = environment.openSession("cuda-mempool", Map.of())) {
            final long block = first.allocator().alloc(48 * MIB);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> second.allocator().alloc(40 * MIB))
                    .satisfies(e -> assertThat(e.getMessage() + e.dump())
                            .contains("gpu:0", "64.0 MiB", first.name() + " holds", second.name() + " holds"));
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

    @Test
    void aShareIsOfTheDevice() {
        try (Environment environment = open("25%")) {
            assertThat(budget(environment).status().limit()).isEqualTo(1024 * MIB / 100 * 25);
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
