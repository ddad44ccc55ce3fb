package allocator.cuda.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.testkit.Capture;
import allocator.spi.DeviceException;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Resources and events while a stream is captured into a graph (T-10). */
class ResourceCaptureTest {
    private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
    private final CudaDevice gpu = CudaDevice.open(driver, 0);
    private final CudaAsyncResource async = new CudaAsyncResource(driver, 0);
    private final CudaEvents events = new CudaEvents(driver, 0);
    private final SyncStream stream = gpu.openStream();
    private final SyncStream other = gpu.openStream();

    @AfterEach
    void close() {
        stream.close();
        other.close();
        events.close();
        async.close();
        gpu.close();
        driver.close();
    }

    /** Its close fails if the capture was invalidated. */
    private Capture capture() {
        return Capture.of(driver, stream);
    }

    @Test
    void thePoolRejectsTheStreamAndTheBlockStaysLive() {
        final long block = async.allocate(4096, 256, stream);
        try (Capture _ = capture()) {
            assertThatExceptionOfType(StreamCaptureException.class)
                    .isThrownBy(() -> async.allocate(4096, 256, stream))
                    .withMessageContaining("%s, CUstream 0x%x of gpu:0", stream, stream.handle())
                    .withMessageContaining("there is no allocation");
            assertThatExceptionOfType(StreamCaptureException.class)
                    .isThrownBy(() -> async.deallocate(block, 4096, 256, stream))
                    .withMessageContaining("there is no deallocation");
            assertThat(async.stats().orElseThrow().bytesInUse()).isEqualTo(4096);
        }
        async.deallocate(block, 4096, 256, stream);
        assertThat(async.stats().orElseThrow().bytesInUse()).isZero();
    }

    @Test
    void otherStreamsAreServed() {
        try (Capture _ = capture()) {
            async.deallocate(async.allocate(4096, 256, other), 4096, 256, other);
            async.deallocate(async.allocate(4096), 4096);
            new CudaAsyncResource(driver, 0).close();
        }
        assertThat(async.stats().orElseThrow().bytesInUse()).isZero();
    }

    @Test
    void eventsAreNeitherRecordedNorWaitedFor() {
        final long event = events.record(other);
        try (Capture _ = capture()) {
            assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> events.record(stream));
            assertThatExceptionOfType(StreamCaptureException.class).isThrownBy(() -> events.await(stream, event));
        }
        events.await(stream, event);
        events.release(event);
    }

    @Test
    void aFailureOfTheQuestionIsReported() {
        driver.controls().failOnCall(CudaFunction.STREAM_IS_CAPTURING, 1, CudaResult.ILLEGAL_ADDRESS);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(() -> async.allocate(4096, 256, stream));
        async.deallocate(async.allocate(4096, 256, stream), 4096, 256, stream);
    }
}
