package allocator.cuda.testkit;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaStreams;
import allocator.spi.SyncStream;

/**
 * The capture of a stream of device 0 into a graph, from its begin to its close. A test that fails ends its capture as
 * well, so that the tests after it do not fail for it.
 */
public final class Capture implements AutoCloseable {
    private final CudaStreams streams;
    private final long stream;
    private boolean isOver;

    private Capture(CudaDriver driver, SyncStream stream) {
        this.streams = driver.streams();
        this.stream = stream.handle();
    }

    /** Begins a capture, which the caller closes. */
    public static Capture of(CudaDriver driver, SyncStream stream) {
        final Capture capture = new Capture(driver, stream);
        capture.streams.streamBeginCapture(0, capture.stream);
        return capture;
    }

    /** Ends the capture, which must not have been invalidated, and destroys its graph. A second call does nothing. */
    @Override
    public void close() {
        if (!isOver) {
            isOver = true;
            streams.graphDestroy(0, streams.streamEndCapture(0, stream));
        }
    }
}
