package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.spi.SyncStream;

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

    /** Closes the stream, which counts as closed whatever happens. */
    void release() {
        try {
            stream.close();
        } finally {
            factory.uses().end(Uses.Kind.STREAM);
            factory.forgetIfUnused();
        }
    }
}
