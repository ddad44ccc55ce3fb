package allocator.onnxruntime.ep.host;

import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.ep.abi.Hosted;
import allocator.onnxruntime.ep.node.GraphNode;
import allocator.onnxruntime.ep.node.NodeKernel;
import allocator.spi.AllocatorOptions;
import java.util.ArrayList;
import java.util.List;

/**
 * A provider as the execution provider of one session: it gives the session its memory, with the session's settings,
 * and runs the nodes that {@link NodeKernel} can, if that was asked for.
 */
record HostedEp(HostedFactory factory, AllocatorOptions options) implements Hosted {
    /**
     * Makes the execution provider of a session.
     *
     * @param options the session's settings of this provider
     * @return the {@code OrtEp}
     */
    static long create(HostedFactory factory, AllocatorOptions options) {
        factory.uses().begin(Uses.Kind.SESSION);
        boolean isCreated = false;
        try {
            final long struct = EpStruct.add(new HostedEp(factory, options));
            isCreated = true;
            return struct;
        } finally {
            if (!isCreated) {
                factory.uses().end(Uses.Kind.SESSION);
            }
        }
    }

    @Override
    public FailureSink failures() {
        return factory.failures();
    }

    /** Makes the {@code OrtAllocator} of an {@code OrtMemoryInfo}. */
    long createAllocator(long ortInfo) {
        return factory.createForSession(ortInfo, options);
    }

    /** Returns the {@code OrtNode}s of an {@code OrtGraph} that it runs. */
    List<Long> capability(long graph) {
        final List<Long> nodes = new ArrayList<>();
        if (factory.runsNodes() && factory.devices().areOfHost()) {
            for (final GraphNode node : GraphNode.of(graph)) {
                if (NodeKernel.runs(node)) {
                    nodes.add(node.handle());
                }
            }
        }
        return nodes;
    }

    /**
     * Compiles a graph of one node.
     *
     * @param graph the {@code OrtGraph}
     * @param fused the {@code OrtNode} that takes its place
     * @return the {@code OrtNodeComputeInfo}
     */
    long compile(long graph, long fused) {
        final List<GraphNode> nodes = GraphNode.of(graph);
        if (nodes.size() != 1) {
            throw new IllegalStateException("a graph of " + nodes.size() + " nodes is to be compiled, not of one");
        }
        return ComputeStruct.add(new HostedKernel(factory, NodeKernel.of(nodes.getFirst(), new GraphNode(fused))));
    }

    /** The session has ended. */
    void release() {
        factory.uses().end(Uses.Kind.SESSION);
        factory.forgetIfUnused();
    }
}
