package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.resource.DeviceRuntime.Settings;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.provider.support.budget.Budget;
import allocator.resource.tracked.TrackedBlock;
import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DeviceRuntimeTest {
    private static final long MIB = 1 << 20;

    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
            .withMemory(512 * MIB)
            .withLaggingStreams()
            .build();

    /** The close of the driver fails if anything is left. */
    @AfterEach
    void nothingIsLeft() {
        driver.close();
    }

    @Nested
    class Table {
        @Test
        void aDeviceHasOneRuntimeWhichTheLastCloseEnds() {
            final DeviceRuntime first = DeviceRuntime.of(driver, 0);
            final DeviceRuntime second = DeviceRuntime.of(driver, 0, Settings.DEFAULT);
            assertThat(second).isSameAs(first);
            first.close();
            second.streams().release(second.streams().acquire());
            second.close();
            assertThatIllegalStateException().isThrownBy(first::openStream);
            try (DeviceRuntime next = DeviceRuntime.of(driver, 0)) {
                assertThat(next).isNotSameAs(first);
            }
        }

        @Test
        void twoDriversHaveTwo() {
            final SimulatedCudaDriver other = SimulatedCudaDriver.builder().build();
            try (DeviceRuntime here = DeviceRuntime.of(driver, 0);
                    DeviceRuntime there = DeviceRuntime.of(other, 0)) {
                assertThat(there).isNotSameAs(here);
                assertThat(there.driver()).isSameAs(other);
            }
            other.close();
        }

        @Test
        void otherSettingsThanThoseInUseAreRejectedWithBoth() {
            final Settings synchronous = Settings.DEFAULT.synchronous().withMostStreams(2);
            try (DeviceRuntime runtime = DeviceRuntime.of(driver, 0, synchronous)) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> DeviceRuntime.of(driver, 0, Settings.DEFAULT))
                        .withMessageContaining(synchronous.toString())
                        .withMessageContaining(Settings.DEFAULT.toString());
                try (DeviceRuntime same = DeviceRuntime.of(driver, 0)) {
                    assertThat(same).isSameAs(runtime);
                }
            }
        }

        @Test
        void aSessionAndARuntimeRetainTheContextOnce() {
            try (Environment environment = environment("max");
                    Session session = environment.openSession("cuda-arena", Map.of());
                    DeviceRuntime _ = DeviceRuntime.of(driver, 0)) {
                session.allocator().free(session.allocator().alloc(1));
                assertThat(driver.controls().calls(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN))
                        .isEqualTo(1);
            }
        }
    }

    /** The arena's wait for the device would invalidate the capture, whose close fails then. */
    @Test
    void aShrinkOfAnArenaLeavesACaptureOfARuntimesStreamAlone() {
        try (Environment environment = environment("max");
                Session session = environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0"));
                DeviceRuntime runtime = DeviceRuntime.of(driver, 0);
                SyncStream stream = runtime.openStream()) {
            session.allocator().free(session.allocator().alloc(8 * MIB));
            try (Capture _ = Capture.of(driver, stream)) {
                assertThat(session.allocator().shrink().bytesReleased()).isZero();
            }
            assertThat(session.allocator().shrink().bytesHeld()).isZero();
        }
    }

    @Nested
    class Failure {
        @Test
        void anOrdinalWithoutADeviceIsNamed() {
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> DeviceRuntime.of(driver, 7))
                    .withMessageContaining("gpu:7");
        }

        @Test
        void aDeviceWithoutPoolsCanOnlyBeSynchronous() {
            final SimulatedCudaDriver old =
                    SimulatedCudaDriver.builder().withoutMemoryPools().build();
            assertThatExceptionOfType(DeviceException.class)
                    .isThrownBy(() -> DeviceRuntime.of(old, 0))
                    .withMessageContaining("gpu:0")
                    .withMessageContaining("synchronous");
            try (DeviceRuntime runtime = DeviceRuntime.of(old, 0, Settings.DEFAULT.synchronous())) {
                runtime.resource().deallocate(runtime.resource().allocate(1000), 1000);
            }
            old.close();
        }

        @Test
        void aStepThatFailsLeavesNothing() {
            for (CudaFunction step : new CudaFunction[] {
                CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, CudaFunction.MEM_POOL_CREATE, CudaFunction.STREAM_CREATE
            }) {
                driver.controls().failAlways(step, CudaResult.OUT_OF_MEMORY);
                assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> DeviceRuntime.of(driver, 0));
                driver.controls().clearFailures();
                assertThat(driver.controls().leaks()).isEmpty();
            }
        }

        @Test
        void whatIsLeftIsCountedAndStaysUsable() {
            final DeviceRuntime runtime = DeviceRuntime.of(driver, 0);
            final SyncStream acquired = runtime.streams().acquire();
            final SyncStream own = runtime.openStream();
            final TrackedBlock block = runtime.tracked().allocate(4096, own, "left");
            final long address = runtime.resource().allocate(1000);
            assertThatIllegalStateException()
                    .isThrownBy(runtime::close)
                    .withMessage("the runtime of gpu:0 has 1 acquired streams, 1 other open streams,"
                            + " 4096 bytes of tracked blocks, 1000 bytes of its resource;"
                            + " release, close or free them first");
            runtime.streams().release(acquired);
            runtime.tracked().free(block);
            runtime.resource().deallocate(address, 1000);
            own.close();
            runtime.close();
        }

        @Test
        void aLostDeviceEndsTheRuntimeWithOneFailureAndNothingHangs() {
            final DeviceRuntime runtime = DeviceRuntime.of(driver, 0);
            final SyncStream stream = runtime.streams().acquire();
            runtime.tracked().free(runtime.tracked().allocate(4096, stream, "lost"));
            runtime.streams().release(stream);
            for (CudaFunction function : CudaFunction.values()) {
                driver.controls().failAlways(function, CudaResult.ILLEGAL_ADDRESS);
            }
            assertThatExceptionOfType(DeviceException.class).isThrownBy(runtime::close);
            driver.controls().clearFailures();
            runtime.close(); // completes the close
            DeviceRuntime.of(driver, 0).close();
        }
    }

    private Environment environment(String limit) {
        final Environment environment = Environment.builder()
                .modulePathProviders(false)
                .option("device.cuda:0.max_mem", limit)
                .build();
        environment.register(driver.provider("cuda-arena"));
        return environment;
    }

    /** Of the whole device: each test leaves it without a limit and without a charge. */
    @Nested
    class Limit {
        private final Environment environment = environment("128m");
        private final Session session = environment.openSession("cuda-arena", Map.of("arena.keep_first_region", "0"));
        private final DeviceRuntime runtime = DeviceRuntime.of(driver, 0);

        @AfterEach
        void close() {
            runtime.close();
            session.close();
            environment.close();
            environment("max").close();
            assertThat(runtime.status()).isEqualTo(new DeviceRuntime.Status(Budget.UNLIMITED, 0, 0, Budget.UNLIMITED));
        }

        private void requireSum(DeviceRuntime.Status status) {
            assertThat(status.live() + status.pending() + status.available())
                    .as("%s", status)
                    .isEqualTo(status.limit())
                    .isEqualTo(128 * MIB);
        }

        @Test
        void liveAndPendingAndAvailableAddUpOverAllParts() {
            final long inArena = session.allocator().alloc(8 * MIB);
            final SyncStream stream = runtime.streams().acquire();
            final TrackedBlock live = runtime.tracked().allocate(MIB, stream, "live");
            final TrackedBlock freed = runtime.tracked().allocate(2 * MIB, stream, "pending");
            driver.streams().launchHostFunction(0, stream.handle(), () -> {});
            runtime.tracked().free(freed);
            final DeviceRuntime.Status status = runtime.status();
            requireSum(status);
            assertThat(status.pending()).isEqualTo(2 * MIB);
            assertThat(status.live() + status.pending())
                    .isEqualTo(session.allocator().stats().bytesHeld() + 32 * MIB); // what the pool holds
            stream.flush();
            runtime.tracked().free(live);
            runtime.tracked().reap();
            assertThat(runtime.status().pending()).isZero();
            requireSum(runtime.status());
            runtime.streams().release(stream);
            session.allocator().free(inArena);
        }

        @Test
        void whatThePoolCachesGoesBackForASession() {
            runtime.resource().deallocate(runtime.resource().allocate(96 * MIB), 96 * MIB);
            assertThat(runtime.status().live()).isEqualTo(96 * MIB);
            session.allocator().free(session.allocator().alloc(64 * MIB));
        }

        @Test
        void pendingBlocksGoBackForASession() {
            final SyncStream stream = runtime.streams().acquire();
            final TrackedBlock block = runtime.tracked().allocate(96 * MIB, stream, "pending");
            driver.streams().launchHostFunction(0, stream.handle(), () -> {});
            runtime.tracked().free(block);
            session.allocator().free(session.allocator().alloc(64 * MIB));
            runtime.streams().release(stream);
        }

        @Test
        void whatAnArenaCachesGoesBackForTheRuntime() {
            session.allocator().free(session.allocator().alloc(96 * MIB));
            runtime.resource().deallocate(runtime.resource().allocate(64 * MIB), 64 * MIB);
            session.allocator().free(session.allocator().alloc(96 * MIB));
            final SyncStream stream = runtime.streams().acquire();
            runtime.tracked().free(runtime.tracked().allocate(64 * MIB, stream, "large"));
            stream.flush();
            runtime.streams().release(stream);
        }

        /** The pool extends itself by 32 MiB, of which there is only room for 24. */
        @Test
        void whatThePoolExtendsTooFarGoesBackInTheSameCall() {
            assertThat(runtime.budget().tryCharge(72 * MIB)).isTrue();
            final long block = runtime.resource().allocate(10 * MIB);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> runtime.resource().allocate(24 * MIB));
            final CudaMemoryUsage device = driver.memory().memGetInfo(0);
            assertThat(device.totalByteSize() - device.freeByteSize()).isEqualTo(32 * MIB);
            assertThat(runtime.status().live()).isEqualTo(104 * MIB);
            runtime.resource().deallocate(block, 10 * MIB);
            runtime.budget().release(72 * MIB);
        }

        @Test
        void aRequestThatNothingMakesRoomForNamesWhatIsHeld() {
            final long inArena = session.allocator().alloc(60 * MIB);
            final long block = runtime.resource().allocate(32 * MIB);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> runtime.resource().allocate(64 * MIB))
                    .satisfies(e -> assertThat(e.getMessage() + e.dump())
                            .contains("gpu:0", session.name(), "the runtime of gpu:0 holds 33554432"));
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> session.allocator().alloc(64 * MIB))
                    .satisfies(e -> assertThat(e.dump()).contains("the runtime of gpu:0 holds 33554432"));
            requireSum(runtime.status());
            runtime.resource().deallocate(block, 32 * MIB);
            session.allocator().free(inArena);
        }
    }
}
