package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.spi.DeviceException;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class CudaDeviceTest {
    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withLaggingStreams());

    @Test
    void retainsTheContextUntilItIsClosed() {
        final CudaDevice first = CudaDevice.open(gpu.driver, 0);
        final CudaDevice second = CudaDevice.open(gpu.driver, 0);
        first.close();
        first.close();
        gpu.driver.memory().memFree(0, gpu.driver.memory().memAlloc(0, 1));
        second.close();
        gpu.close(); // fails if a context is retained
    }

    @Test
    void anOpenStreamKeepsItOpen() {
        final CudaDevice device = CudaDevice.open(gpu.driver, 0);
        final SyncStream stream = device.openStream();
        assertThatIllegalStateException()
                .isThrownBy(device::close)
                .withMessage("1 streams of %s are open; close them first", device);
        device.openStream().close();
        stream.close();
        device.close();
        assertThatIllegalStateException().isThrownBy(device::openStream).withMessageContaining("is closed");
        assertThatIllegalStateException().isThrownBy(() -> device.viewStream(0));
        gpu.close();
    }

    @Test
    void aFactoryAndOpenedDevicesRetainTheContextOnce() {
        final DeviceMemory raw = gpu.raw();
        final CudaDevice first = CudaDevice.open(gpu.driver, 0);
        final CudaDevice second = CudaDevice.open(gpu.driver, 0);
        gpu.releaseAllocator(raw);
        assertThat(gpu.driver.controls().calls(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN))
                .isEqualTo(1);
        first.close();
        second.close();
        assertThat(gpu.driver.controls().calls(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE))
                .isZero();
        gpu.close();
    }

    /** A call without a context fails. */
    @Test
    void manyThreadsThatOpenAndCloseADeviceAlwaysHaveAContext() throws Exception {
        try (var threads = Executors.newFixedThreadPool(8)) {
            final List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                all.add(threads.submit(() -> {
                    for (int i = 0; i < 200; i++) {
                        try (CudaDevice _ = CudaDevice.open(gpu.driver, 0)) {
                            gpu.driver.memory().memFree(0, gpu.driver.memory().memAlloc(0, 1));
                        }
                    }
                }));
            }
            for (final Future<?> each : all) {
                each.get();
            }
        }
        gpu.close();
    }

    @Test
    void theDeviceOfAFactoryIsClosedByTheFactoryAlone() {
        try (SyncStream stream = gpu.stream()) {
            assertThatIllegalStateException()
                    .isThrownBy(((CudaSyncStream) stream).device()::close)
                    .withMessageContaining("closed by its factory");
            stream.flush();
        }
        gpu.close();
    }

    @Test
    void aDriverIsForgottenWithItsLastUser() throws InterruptedException {
        final WeakReference<SimulatedCudaDriver> driver = usedAndClosed();
        for (int i = 0; i < 100 && driver.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(driver.get()).isNull();
        gpu.close();
    }

    private static WeakReference<SimulatedCudaDriver> usedAndClosed() {
        final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
        CudaDevice.open(driver, 0).close();
        driver.controls().failOnCall(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, 1, CudaResult.OUT_OF_MEMORY);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> CudaDevice.open(driver, 0));
        driver.close();
        return new WeakReference<>(driver);
    }

    /** The wait for the device would invalidate the capture, whose close fails then. */
    @Test
    void aCaptureOnAStreamOfAnotherUserStopsAWaitForTheDevice() {
        final DeviceMemory raw = gpu.raw();
        final long block = raw.alloc(4096);
        try (CudaDevice device = CudaDevice.open(gpu.driver, 0);
                SyncStream stream = device.openStream()) {
            try (Capture _ = Capture.of(gpu.driver, stream)) {
                assertThatExceptionOfType(StreamCaptureException.class)
                        .isThrownBy(raw::awaitDevice)
                        .withMessageContaining(stream.toString());
            }
            raw.awaitDevice();
        }
        raw.free(block);
        gpu.releaseAllocator(raw);
        gpu.close();
    }

    @Test
    void twoUsersMayEachViewAStream() {
        try (CudaDevice device = CudaDevice.open(gpu.driver, 0)) {
            final long foreign = gpu.driver.streams().streamCreate(0);
            try (SyncStream one = device.viewStream(foreign);
                    SyncStream other = gpu.viewSyncStream(gpu.device(0), foreign)) {
                assertThat(one.id()).isNotEqualTo(other.id());
                assertThat(device.openStreams()).isEqualTo(1);
            }
            gpu.driver.streams().streamDestroy(0, foreign);
        }
        gpu.close();
    }

    @Test
    void viewsAStreamOnceAtATime() {
        try (CudaDevice device = CudaDevice.open(gpu.driver, 0)) {
            final long foreign = gpu.driver.streams().streamCreate(0);
            try (SyncStream view = device.viewStream(foreign)) {
                assertThat(view.handle()).isEqualTo(foreign);
                assertThat(view.memory()).isEqualTo(device.defaultMemory());
                assertThatIllegalStateException().isThrownBy(() -> device.viewStream(foreign));
            }
            gpu.driver.streams().streamDestroy(0, foreign);
            assertThatIllegalArgumentException().isThrownBy(() -> device.viewStream(foreign));
        }
        gpu.close();
    }

    /** Memory of a provider that is used on a stream of another owner is unbound by the end of the stream. */
    @Test
    void endsOfItsStreamsReachTheAllocatorsOfOthers() {
        final DriverPool pool = gpu.pool();
        final DriverPool closed = gpu.pool("arena.exclusive", "1");
        try (CudaDevice device = CudaDevice.open(gpu.driver, 0)) {
            final CudaSyncStream stream = (CudaSyncStream) device.openStream();
            final long block = pool.allocOnStream(4096, stream);
            closed.free(closed.allocOnStream(4096, stream));
            gpu.releaseAllocator(closed);
            gpu.driver.streams().launchHostFunction(0, stream.handle(), () -> {});
            stream.onSessionRunEnd();
            stream.close();
            pool.free(block);
        }
        gpu.releaseAllocator(pool);
        gpu.close();
    }

    @Test
    void aDeviceThatDoesNotExistOrFailsIsReported() {
        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> CudaDevice.open(gpu.driver, 1))
                .withMessage("there is no gpu:1; the CUDA driver lists 1 devices, numbered from 0");
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> CudaDevice.open(gpu.driver, -1));
        gpu.driver.controls().failOnCall(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, 1, CudaResult.OUT_OF_MEMORY);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> CudaDevice.open(gpu.driver, 0));
        gpu.close();
    }

    @Test
    void aContextThatIsNotReleasedIsReleasedByAnotherClose() {
        final CudaDevice device = CudaDevice.open(gpu.driver, 0);
        gpu.driver.controls().failAlways(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(device::close);
        gpu.driver.controls().clearFailures();
        device.close();
        gpu.close();
    }
}
