package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.PoolAttribute;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Progress of streams, injected failures, and leaks. */
class TestControlsTest {
    private static final long MIB = 1L << 20;

    private static SimulatedCudaDriver.Builder oneDevice() {
        return SimulatedCudaDriver.builder().withMemory(1024 * MIB);
    }

    private static SimulatedCudaDriver lagging() {
        final SimulatedCudaDriver driver = oneDevice().withLaggingStreams().build();
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    private static SimulatedCudaDriver prompt() {
        final SimulatedCudaDriver driver = oneDevice().build();
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    @Nested
    class Progress {
        @Test
        void workWaitsUntilItsStreamIsAdvanced() {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            assertThat(driver.streams().streamQuery(0, stream)).isFalse();
            assertThat(driver.controls().advance(stream)).isEqualTo(2);
            assertThat(calls).hasValue(2);
            assertThat(driver.streams().streamQuery(0, stream)).isTrue();
        }

        @Test
        void aStreamAdvancesAloneOnlyToItsNextWait() {
            final SimulatedCudaDriver driver = lagging();
            final long first = driver.streams().streamCreate(0);
            final long second = driver.streams().streamCreate(0);
            final long event = driver.streams().eventCreate(0);
            driver.streams().eventRecord(0, event, first);
            driver.streams().streamWaitEvent(0, second, event);
            assertThat(driver.controls().advance(second)).isZero();
            assertThat(driver.controls().advance(first)).isEqualTo(1);
            assertThat(driver.controls().advance(second)).isEqualTo(1);
        }

        @Test
        void advancingAllIncludesDestroyedStreams() {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            driver.streams().streamDestroy(0, stream);
            driver.controls().advanceAll();
            assertThat(calls).hasValue(1);
        }

        @Test
        void streamsThatDoNotLagAreAlwaysDone() {
            final SimulatedCudaDriver driver = prompt();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            driver.streams().launchHostFunction(0, stream, calls::incrementAndGet);
            assertThat(calls).hasValue(1);
            assertThat(driver.streams().streamQuery(0, stream)).isTrue();
        }

        @Test
        void aHostFunctionMustNotCallTheDriver() {
            final SimulatedCudaDriver driver = prompt();
            final AtomicReference<Throwable> thrown = new AtomicReference<>();
            driver.streams().launchHostFunction(0, 0, () -> {
                try {
                    driver.memory().memAlloc(0, 1);
                } catch (CudaException e) {
                    thrown.set(e);
                }
            });
            assertThat(thrown.get()).hasMessageContaining("CUDA_ERROR_NOT_PERMITTED");
        }

        @Test
        void aThreadMayWaitWhileAnotherRunsAHostFunction() throws Exception {
            final SimulatedCudaDriver driver = lagging();
            final long stream = driver.streams().streamCreate(0);
            final AtomicInteger calls = new AtomicInteger();
            for (int i = 0; i < 50; i++) {
                driver.streams().launchHostFunction(0, stream, () -> {
                    LockSupport.parkNanos(1000);
                    calls.incrementAndGet();
                });
            }
            final Thread other =
                    Thread.startVirtualThread(() -> driver.streams().streamSynchronize(0, stream));
            driver.streams().streamSynchronize(0, stream);
            assertThat(calls).hasValue(50);
            other.join();
        }
    }

    @Nested
    class Failures {
        @Test
        void theChosenCallFailsOnceAndChangesNothing() {
            final SimulatedCudaDriver driver = prompt();
            driver.controls().failOnCall(2, CudaResult.OUT_OF_MEMORY);
            final long first = driver.memory().memAlloc(0, MIB);
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.memory().memAlloc(0, MIB));
            assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(1023 * MIB);
            driver.memory().memFree(0, first);
        }

        @Test
        void theChosenCallOfAFunctionFails() {
            final SimulatedCudaDriver driver = prompt();
            final long event = driver.streams().eventCreate(0);
            driver.controls().failOnCall(CudaFunction.EVENT_QUERY, 2, CudaResult.ILLEGAL_ADDRESS);
            driver.streams().eventQuery(0, event);
            driver.streams().eventRecord(0, event, 0);
            assertFails(CudaResult.ILLEGAL_ADDRESS, () -> driver.streams().eventQuery(0, event));
            driver.streams().eventQuery(0, event);
            assertThat(driver.controls().calls(CudaFunction.EVENT_QUERY)).isEqualTo(3);
            assertThat(driver.controls().calls(CudaFunction.EVENT_RECORD)).isEqualTo(1);
        }

        @Test
        void aFunctionFailsUntilFailuresAreCleared() {
            final SimulatedCudaDriver driver = prompt();
            driver.controls().failAlways(CudaFunction.STREAM_CREATE, CudaResult.OUT_OF_MEMORY);
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.streams().streamCreate(0));
            assertFails(CudaResult.OUT_OF_MEMORY, () -> driver.streams().streamCreate(0));
            driver.controls().clearFailures();
            driver.streams().streamCreate(0);
        }

        /** A program that tries each call again when it fails ends as if none had failed. */
        @Test
        void everyCallMayFailOnceWithoutEffect() {
            final SimulatedCudaDriver whole = oneDevice().withLaggingStreams().build();
            run(whole, -1);
            for (int failing = 1; failing <= whole.controls().calls(); failing++) {
                final SimulatedCudaDriver driver =
                        oneDevice().withLaggingStreams().build();
                run(driver, failing);
                assertThat(driver.controls().calls())
                        .as("call %d failed", failing)
                        .isEqualTo(whole.controls().calls() + 1);
                driver.close();
            }
        }

        private static void run(SimulatedCudaDriver driver, int failing) {
            driver.controls().failOnCall(failing, CudaResult.OUT_OF_MEMORY);
            final Random random = new Random(3);
            persist(() -> driver.devices().primaryContextRetain(0));
            final List<Long> live = new ArrayList<>();
            final long[] made = new long[4];
            persist(() -> made[0] = driver.streams().streamCreate(0));
            persist(() -> made[1] = driver.streams().streamCreate(0));
            persist(() -> made[2] = driver.pools().memPoolCreate(0));
            persist(() -> made[3] = driver.streams().eventCreate(0));
            for (int i = 0; i < 40; i++) {
                if (random.nextBoolean() || live.isEmpty()) {
                    final long byteSize = random.nextLong(1, 4 * MIB);
                    persist(() -> live.add(driver.pools().memAllocFromPoolAsync(0, made[2], byteSize, made[0])));
                    final long address = live.getLast();
                    persist(() -> driver.memory().memsetD8Async(0, address, (byte) 1, byteSize, made[0]));
                } else {
                    final long address = live.remove(random.nextInt(live.size()));
                    persist(() -> driver.streams().eventRecord(0, made[3], made[0]));
                    persist(() -> driver.streams().streamWaitEvent(0, made[1], made[3]));
                    persist(() -> driver.pools().memFreeAsync(0, address, made[1]));
                    persist(() -> driver.streams().eventRecord(0, made[3], made[1]));
                    persist(() -> driver.streams().streamWaitEvent(0, made[0], made[3]));
                }
            }
            live.forEach(address -> persist(() -> driver.pools().memFreeAsync(0, address, made[0])));
            persist(() -> driver.streams().streamSynchronize(0, made[0]));
            persist(() -> assertThat(driver.pools().memPoolGetAttribute(0, made[2], PoolAttribute.USED_MEM_CURRENT))
                    .isZero());
            persist(() ->
                    assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(1024 * MIB));
            persist(() -> driver.pools().memPoolDestroy(0, made[2]));
            persist(() -> driver.streams().eventDestroy(0, made[3]));
            persist(() -> driver.streams().streamDestroy(0, made[0]));
            persist(() -> driver.streams().streamDestroy(0, made[1]));
            persist(() -> driver.devices().primaryContextRelease(0));
        }

        private static void persist(Runnable call) {
            try {
                call.run();
            } catch (CudaException e) {
                call.run();
            }
        }
    }

    @Nested
    class Leaks {
        @Test
        void closingReportsWhatIsLeft() {
            final SimulatedCudaDriver driver = prompt();
            driver.memory().memAlloc(0, 1000);
            driver.memory().memHostAlloc(0, 1, true);
            driver.pools()
                    .memAllocFromPoolAsync(
                            0,
                            driver.pools().memPoolCreate(0),
                            MIB,
                            driver.streams().streamCreate(0));
            driver.streams().eventCreate(0);
            driver.addressRanges().memAddressReserve(0, 2 * MIB);
            driver.addressRanges().memCreate(0, 2 * MIB);
            assertThatIllegalStateException()
                    .isThrownBy(driver::close)
                    .withMessageContainingAll(
                            "1024 bytes at 0x1000000000000 from cuMemAlloc, call 2",
                            "from cuMemHostAlloc",
                            "from cuMemAllocFromPoolAsync",
                            "pool 0x",
                            "stream ",
                            "event 0x",
                            "reserved addresses",
                            "physical memory",
                            "context, retained 1 times");
        }

        @Test
        void whatIsLiveWhenItsContextIsDestroyedIsALeak() {
            final SimulatedCudaDriver driver = prompt();
            driver.memory().memAlloc(0, MIB);
            driver.streams().streamCreate(0);
            driver.devices().primaryContextRelease(0);
            assertThat(driver.controls().leaks()).hasSize(2);
            driver.devices().primaryContextRetain(0);
            assertThat(driver.memory().memGetInfo(0).freeByteSize()).isEqualTo(1024 * MIB);
        }

        @Test
        void closingTwiceIsClosingOnceAndCallsFailAfterwards() {
            final SimulatedCudaDriver driver = oneDevice().build();
            driver.close();
            driver.close();
            assertFails(CudaResult.DEINITIALIZED, () -> driver.devices().primaryContextRetain(0));
        }
    }

    private static void assertFails(int result, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CudaException.class,
                        e -> assertThat(e.result()).as(e.getMessage()).isEqualTo(result));
    }
}
