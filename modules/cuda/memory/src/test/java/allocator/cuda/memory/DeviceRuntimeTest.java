package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.Test;

class DeviceRuntimeTest {
    private final SimulatedGpu gpu =
            SimulatedGpu.of(SimulatedCudaDriver.builder().withLaggingStreams());

    @Test
    void retainsTheContextUntilItIsClosed() {
        final DeviceRuntime first = DeviceRuntime.open(gpu.driver, 0);
        final DeviceRuntime second = DeviceRuntime.open(gpu.driver, 0);
        first.close();
        first.close();
        gpu.driver.memory().memFree(0, gpu.driver.memory().memAlloc(0, 1));
        second.close();
        gpu.close(); // fails if a context is retained
    }

    @Test
    void anOpenStreamKeepsItOpen() {
        final DeviceRuntime runtime = DeviceRuntime.open(gpu.driver, 0);
        final SyncStream stream = runtime.openStream();
        assertThatIllegalStateException()
                .isThrownBy(runtime::close)
                .withMessage("1 streams of %s are open; close them first", runtime);
        runtime.openStream().close();
        stream.close();
        runtime.close();
        assertThatIllegalStateException().isThrownBy(runtime::openStream).withMessageContaining("is closed");
        assertThatIllegalStateException().isThrownBy(() -> runtime.viewStream(0));
        gpu.close();
    }

    @Test
    void viewsAStreamOnceAtATime() {
        try (DeviceRuntime runtime = DeviceRuntime.open(gpu.driver, 0)) {
            final long foreign = gpu.driver.streams().streamCreate(0);
            try (SyncStream view = runtime.viewStream(foreign)) {
                assertThat(view.handle()).isEqualTo(foreign);
                assertThat(view.memory()).isEqualTo(runtime.memory());
                assertThatIllegalStateException().isThrownBy(() -> runtime.viewStream(foreign));
            }
            gpu.driver.streams().streamDestroy(0, foreign);
            assertThatIllegalArgumentException().isThrownBy(() -> runtime.viewStream(foreign));
        }
        gpu.close();
    }

    /** Memory of a provider that is used on a stream of another owner is unbound by the end of the stream. */
    @Test
    void endsOfItsStreamsReachTheAllocatorsOfOthers() {
        final DriverPool pool = gpu.pool();
        final DriverPool closed = gpu.pool("arena.exclusive", "1");
        try (DeviceRuntime runtime = DeviceRuntime.open(gpu.driver, 0)) {
            final CudaSyncStream stream = (CudaSyncStream) runtime.openStream();
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
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> DeviceRuntime.open(gpu.driver, 1));
        gpu.driver.controls().failOnCall(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, 1, CudaResult.OUT_OF_MEMORY);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> DeviceRuntime.open(gpu.driver, 0));
        gpu.close();
    }

    @Test
    void aContextThatIsNotReleasedIsReleasedByAnotherClose() {
        final DeviceRuntime runtime = DeviceRuntime.open(gpu.driver, 0);
        gpu.driver.controls().failAlways(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(runtime::close);
        gpu.driver.controls().clearFailures();
        runtime.close();
        gpu.close();
    }
}
