package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/**
 * A notification of a provider's stream.
 *
 * @param factory the provider
 * @param notification its notification, which ONNX Runtime releases
 */
record HostedNotification(HostedFactory factory, SyncNotification notification) implements Hosted {
    @Override
    public FailureSink failures() {
        return factory.failures();
    }

    /** Makes later work on a stream wait. One that is not of a Java provider cannot, so this thread waits. */
    void waitOnDevice(long ortStream) {
        final SyncStream consumer = StreamStruct.streamOf(ortStream);
        if (consumer == null) {
            notification.waitOnHost();
        } else {
            notification.waitOnDevice(consumer);
        }
    }
}
