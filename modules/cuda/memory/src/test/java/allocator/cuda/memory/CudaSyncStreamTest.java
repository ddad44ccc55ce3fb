package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.DeviceException;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CudaSyncStreamTest {
    private static final int UNKNOWN_ERROR = 999;

    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withDevices(2).withLaggingStreams());

    @AfterEach
    void close() {
        gpu.close();
    }

    @Test
    void aWaitingStreamComesLater() {
        final DriverPool pool = gpu.pool();
        try (SyncStream first = gpu.stream();
                SyncStream second = gpu.stream();
                SyncNotification done = first.createNotification()) {
            final long address = pool.allocOnStream(4096, first);
            gpu.driver.memory().memsetD8Async(0, address, (byte) 1, 4096, first.handle());
            done.activate();
            done.waitOnDevice(second);
            assertThat(second.lastWaitedSyncId(first)).isEqualTo(first.syncId());
            gpu.driver.memory().memsetD8Async(0, address, (byte) 2, 4096, second.handle());
            assertThat(gpu.driver.controls().advance(second.handle())).isZero();
            done.waitOnHost();
            second.flush();
            assertThat(gpu.driver.streams().streamQuery(0, second.handle())).isTrue();
            pool.free(address);
        }
        gpu.releaseAllocator(pool);
    }

    @Test
    void streamsOfTwoDevicesWaitForEachOther() {
        try (SyncStream first = gpu.createSyncStream(gpu.device(0));
                SyncStream second = gpu.createSyncStream(gpu.device(1));
                SyncNotification done = first.createNotification()) {
            done.activate();
            done.waitOnDevice(second);
            second.flush();
        }
    }

    @Test
    void closeDrainsOnItsOwnDevice() {
        final SyncStream stream = gpu.createSyncStream(gpu.device(1));
        final boolean[] isDone = new boolean[1];
        gpu.driver.streams().launchHostFunction(1, stream.handle(), () -> isDone[0] = true);
        stream.close();
        stream.close();
        assertThat(isDone[0]).isTrue();
        assertThatIllegalStateException().isThrownBy(stream::flush);
        assertThatIllegalStateException().isThrownBy(stream::createNotification);
        assertThatIllegalStateException().isThrownBy(stream::onSessionRunEnd);
    }

    @Test
    void aNotificationOutlivesItsStream() {
        final SyncStream stream = gpu.stream();
        final SyncNotification recorded = stream.createNotification();
        final SyncNotification unrecorded = stream.createNotification();
        recorded.activate();
        stream.close();
        recorded.waitOnHost();
        assertThatIllegalStateException().isThrownBy(unrecorded::activate);
        assertThatIllegalStateException().isThrownBy(unrecorded::waitOnHost);
        recorded.close();
        recorded.close();
        assertThatIllegalStateException().isThrownBy(recorded::waitOnHost);
        unrecorded.close();
    }

    @Test
    void aRunThatCannotBeSynchronizedSaysSoAndTheNextOneWorks() {
        try (SyncStream stream = gpu.stream()) {
            gpu.driver.controls().failOnCall(CudaFunction.STREAM_SYNCHRONIZE, 1, UNKNOWN_ERROR);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(stream::onSessionRunEnd);
            stream.onSessionRunEnd();
        }
    }

    @Test
    void aStreamThatCannotBeCreatedLeavesNothing() {
        gpu.driver.controls().failOnCall(CudaFunction.STREAM_CREATE, 1, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(gpu::stream);
        try (SyncStream stream = gpu.stream()) {
            gpu.driver.controls().failOnCall(CudaFunction.EVENT_CREATE, 1, UNKNOWN_ERROR);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(stream::createNotification);
        }
    }

    @Test
    void idsAreNeverUsedAgainThoughHandlesAre() {
        final SyncStream first = gpu.stream();
        try (SyncStream other = gpu.stream();
                SyncNotification done = first.createNotification()) {
            done.activate();
            done.waitOnDevice(other);
            first.close();
            try (SyncStream second = gpu.stream()) {
                assertThat(second.handle()).isEqualTo(first.handle());
                assertThat(second.id()).isGreaterThan(first.id());
                assertThat(other.lastWaitedSyncId(second)).isZero();
            }
        }
    }

    @Test
    void aStreamHasEndedWhenItsWorkIsKnownToBeDone() {
        try (SyncStream other = gpu.stream()) {
            final SyncStream drained = gpu.stream();
            drained.close();
            assertThat(other.lastWaitedSyncId(drained)).isEqualTo(Long.MAX_VALUE);

            final SyncStream lost = gpu.stream();
            gpu.driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
            assertThatExceptionOfType(DeviceException.class).isThrownBy(lost::close);
            gpu.driver.controls().clearFailures();
            assertThat(other.lastWaitedSyncId(lost)).isZero();
        }
    }

    @Test
    void aNativeStreamOrEventThatTheDriverDoesNotDestroyIsDestroyedByAnotherClose() {
        final SyncStream stream = gpu.stream();
        final SyncNotification notification = stream.createNotification();
        gpu.driver.controls().failAlways(CudaFunction.EVENT_DESTROY, UNKNOWN_ERROR);
        gpu.driver.controls().failAlways(CudaFunction.STREAM_DESTROY, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(notification::close);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(stream::close);
        gpu.driver.controls().clearFailures();
        notification.close();
        stream.close();
        final long destroyed = gpu.driver.controls().calls(CudaFunction.STREAM_DESTROY);
        stream.close();
        assertThat(gpu.driver.controls().calls(CudaFunction.STREAM_DESTROY)).isEqualTo(destroyed);
    }

    @Test
    void orByTheCloseOfTheFactory() {
        final SyncStream stream = gpu.stream();
        final SyncNotification notification = stream.createNotification();
        gpu.driver.controls().failAlways(CudaFunction.EVENT_DESTROY, UNKNOWN_ERROR);
        gpu.driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(notification::close);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(stream::close);
        gpu.driver.controls().clearFailures();
    }
}
