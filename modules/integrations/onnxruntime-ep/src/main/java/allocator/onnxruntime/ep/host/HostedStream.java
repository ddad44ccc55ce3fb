package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.Objects;

/**
 * A stream of a provider.
 *
 * @param factory the provider
 * @param stream its stream, which ONNX Runtime releases
 */
record HostedStream(HostedFactory factory, SyncStream stream) implements Hosted {
    @Override
    public FailureSink failures() {
        return factory.failures();
    }

    /** Closes the stream, which ONNX Runtime has no more. What that fails to do, the close of the library does. */
    void release() {
        try {
            factory.rest().close(stream);
        } finally {
            factory.uses().end(Uses.Kind.STREAM);
            factory.forgetIfUnused();
        }
    }

    /** Makes a notification and returns its struct. */
    long createNotification() {
        final SyncNotification notification = Objects.requireNonNull(
                stream.createNotification(), () -> stream + " of provider " + factory.name() + " made no notification");
        try {
            return NotificationStruct.add(new HostedNotification(factory, notification));
        } catch (Throwable e) {
            notification.close();
            throw e;
        }
    }
}
