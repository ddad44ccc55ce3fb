package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Views of streams that other code has created (T-09). */
class StreamViewTest {
    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withDevices(2).withLaggingStreams());

    private long foreign;

    @BeforeEach
    void createForeignStream() {
        gpu.driver.devices().primaryContextRetain(0);
        gpu.driver.devices().primaryContextRetain(1);
        foreign = gpu.driver.streams().streamCreate(0);
    }

    @AfterEach
    void close() {
        gpu.driver.devices().primaryContextRelease(0);
        gpu.driver.devices().primaryContextRelease(1);
        gpu.close();
    }

    private void destroyForeignStream() {
        gpu.driver.streams().streamDestroy(0, foreign);
    }

    private SyncStream view() {
        return gpu.viewSyncStream(gpu.device(0), foreign);
    }

    @Nested
    class Use {
        @Test
        void ordersAllocationsFreesAndOtherStreams() {
            final DriverPool pool = gpu.pool();
            try (SyncStream view = view();
                    SyncStream own = gpu.stream();
                    SyncNotification written = view.createNotification()) {
                assertThat(view.handle()).isEqualTo(foreign);
                final long block = pool.allocOnStream(4096, view);
                gpu.driver.memory().memsetD8Async(0, block, (byte) 1, 4096, foreign);
                written.activate();
                written.waitOnDevice(own);
                assertThat(own.lastWaitedSyncId(view)).isEqualTo(1);
                gpu.driver.memory().memsetD8Async(0, block, (byte) 2, 4096, own.handle());
                own.flush();
                pool.free(block);
                view.onSessionRunEnd();
            }
            gpu.releaseAllocator(pool);
            destroyForeignStream();
        }

        @Test
        void anIdleViewIsClosedWithoutACallOfTheDriver() {
            final DriverPool pool = gpu.pool();
            final SyncStream view = view();
            pool.free(pool.allocOnStream(4096, view));
            view.onSessionRunEnd();
            destroyForeignStream();
            final long calls = gpu.driver.controls().calls();
            view.closeIdle();
            assertThat(gpu.driver.controls().calls()).isEqualTo(calls);
            assertThat(view.hasEnded()).isTrue();
            gpu.releaseAllocator(pool);
        }

        @Test
        void anIdleStreamOfTheProviderIsDestroyedByItsClose() {
            final SyncStream own = gpu.stream();
            own.closeIdle();
            assertThat(gpu.driver.controls().calls(CudaFunction.STREAM_DESTROY)).isEqualTo(1);
            destroyForeignStream();
        }

        @Test
        void aCloseWaitsForTheWorkAndDestroysNothing() {
            final boolean[] isDone = new boolean[1];
            final SyncStream view = view();
            gpu.driver.streams().launchHostFunction(0, foreign, () -> isDone[0] = true);
            view.close();
            view.close();
            assertThat(isDone[0]).isTrue();
            assertThat(view.hasEnded()).isTrue();
            assertThat(gpu.driver.controls().calls(CudaFunction.STREAM_DESTROY)).isZero();
            assertThatIllegalStateException().isThrownBy(view::flush).withMessageContaining("is closed");
            assertThatIllegalStateException().isThrownBy(view::createNotification);
            destroyForeignStream();
        }

        @Test
        void aBlockOutlivesItsView() {
            final DriverPool pool = gpu.pool();
            final SyncStream view = view();
            final long block = pool.allocOnStream(4096, view);
            view.close();
            destroyForeignStream();
            pool.free(block);
            gpu.releaseAllocator(pool);
        }

        @Test
        void theDefaultStreamCanBeViewed() {
            try (SyncStream view = gpu.viewSyncStream(gpu.device(0), 0);
                    SyncNotification notification = view.createNotification()) {
                notification.activate();
                notification.waitOnHost();
            }
            destroyForeignStream();
        }

        @Test
        void anOpenViewKeepsTheFactoryOpen() {
            final SyncStream view = view();
            assertThatIllegalStateException().isThrownBy(gpu::close).withMessageContaining("1 streams are out");
            view.close();
            destroyForeignStream();
        }
    }

    @Nested
    class Rejection {
        @AfterEach
        void destroy() {
            destroyForeignStream();
        }

        @Test
        void ofAStreamOfAnotherDevice() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> gpu.viewSyncStream(gpu.device(1), foreign))
                    .withMessage(
                            "CUstream 0x%x cannot be viewed as a stream of gpu:1: "
                                    + "it is a stream of gpu:0; view it there",
                            foreign);
        }

        @Test
        void ofAHandleThatTheDriverDoesNotKnow() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> gpu.viewSyncStream(gpu.device(0), 0x1234))
                    .withMessageContaining("CUstream 0x1234")
                    .withMessageContaining("was destroyed");
        }

        @Test
        void ofHandlesThatMeanAnotherStreamOnEachThread() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> gpu.viewSyncStream(gpu.device(0), 1))
                    .withMessageContaining("CU_STREAM_LEGACY; pass 0");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> gpu.viewSyncStream(gpu.device(0), 2))
                    .withMessageContaining("CU_STREAM_PER_THREAD");
        }

        @Test
        void ofASecondViewWhileTheFirstIsOpen() {
            try (SyncStream first = view()) {
                assertThatIllegalStateException()
                        .isThrownBy(StreamViewTest.this::view)
                        .withMessageContaining("CUstream 0x%x of gpu:0 is %s".formatted(foreign, first));
            }
            view().close();
        }

        @Test
        void ofAStreamOfTheFactoryItself() {
            try (SyncStream own = gpu.stream()) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> gpu.viewSyncStream(gpu.device(0), own.handle()))
                        .withMessageContaining("is " + own);
            }
        }
    }

    /** The owner destroys the stream, and may get its handle for another one. */
    @Nested
    class DeadStream {
        @Test
        void callsThatWaitOrRecordAreRejected() {
            try (SyncStream view = view();
                    SyncNotification notification = view.createNotification()) {
                destroyForeignStream();
                assertThatIllegalStateException().isThrownBy(view::flush).withMessageContaining("was destroyed");
                assertThatIllegalStateException().isThrownBy(view::onSessionRunEnd);
                assertThatIllegalStateException().isThrownBy(notification::activate);
            }
        }

        @Test
        void anotherStreamWithItsHandleIsNotTakenForIt() {
            try (SyncStream view = view()) {
                destroyForeignStream();
                assertThat(gpu.driver.streams().streamCreate(0)).isEqualTo(foreign);
                assertThatIllegalStateException().isThrownBy(view::flush).withMessageContaining("was destroyed");
                view().close();
            }
            destroyForeignStream();
        }

        @Test
        void itsCloseWaitsForTheDevice() {
            final boolean[] isDone = new boolean[1];
            final SyncStream view = view();
            gpu.driver.streams().launchHostFunction(0, foreign, () -> isDone[0] = true);
            destroyForeignStream();
            view.close();
            assertThat(isDone[0]).isTrue();
            assertThat(view.hasEnded()).isTrue();
        }
    }
}
