package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.onnxruntime.ep.node.NodeKernel;

/**
 * A compiled node.
 *
 * @param factory the provider that runs it
 * @param kernel what it does
 */
record HostedKernel(HostedFactory factory, NodeKernel kernel) implements Hosted {
    @Override
    public FailureSink failures() {
        return factory.failures();
    }
}
