package allocator.onnxruntime.ep.node;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import java.util.Arrays;
import java.util.List;

/**
 * A node of a graph that ONNX Runtime shows to an execution provider. Valid during the callback that shows it.
 *
 * @param handle the {@code OrtNode}
 */
public record GraphNode(long handle) {
    /** The nodes of an {@code OrtGraph}. */
    public static List<GraphNode> of(long graph) {
        final EpApi api = EpApi.get();
        final int count = (int) api.get(EpFunction.GRAPH_GET_NUM_NODES, graph);
        return Arrays.stream(api.getAll(EpFunction.GRAPH_GET_NODES, graph, count))
                .mapToObj(GraphNode::new)
                .toList();
    }

    /** Returns the operator, such as {@code Add}. */
    public String operator() {
        return EpApi.get().getText(EpFunction.NODE_GET_OPERATOR_TYPE, handle);
    }

    /** Returns the domain of the operator; empty for those of ONNX. */
    public String domain() {
        return EpApi.get().getText(EpFunction.NODE_GET_DOMAIN, handle);
    }

    /** Returns the version of the operator set that brought this form of the operator. */
    int sinceVersion() {
        return (int) EpApi.get().get(EpFunction.NODE_GET_SINCE_VERSION, handle);
    }

    /** Returns the inputs. */
    public List<NodeValue> inputs() {
        return values(EpFunction.NODE_GET_NUM_INPUTS, EpFunction.NODE_GET_INPUTS);
    }

    /** Returns the outputs. */
    public List<NodeValue> outputs() {
        return values(EpFunction.NODE_GET_NUM_OUTPUTS, EpFunction.NODE_GET_OUTPUTS);
    }

    private List<NodeValue> values(EpFunction number, EpFunction all) {
        final EpApi api = EpApi.get();
        return Arrays.stream(api.getAll(all, handle, (int) api.get(number, handle)))
                .mapToObj(NodeValue::new)
                .toList();
    }
}
