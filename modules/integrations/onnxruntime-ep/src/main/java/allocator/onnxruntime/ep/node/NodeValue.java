package allocator.onnxruntime.ep.node;

import allocator.onnxruntime.ep.abi.EpApi;
import allocator.onnxruntime.ep.abi.EpFunction;
import allocator.onnxruntime.ep.abi.EpStructs;

/**
 * An input or output of a node.
 *
 * @param handle the {@code OrtValueInfo}, 0 for an optional input that is not given
 */
public record NodeValue(long handle) {
    /** Returns the name, by which nodes are connected. */
    public String name() {
        return handle == 0 ? "" : EpApi.get().getText(EpFunction.GET_VALUE_INFO_NAME, handle);
    }

    /** Returns whether it is a tensor of floats. */
    public boolean isFloatTensor() {
        if (handle == 0) {
            return false;
        }
        final EpApi api = EpApi.get();
        final long type = api.get(EpFunction.GET_VALUE_INFO_TYPE_INFO, handle);
        final long tensor = api.get(EpFunction.CAST_TYPE_INFO_TO_TENSOR_INFO, type);
        return tensor != 0 && api.getInt(EpFunction.GET_TENSOR_ELEMENT_TYPE, tensor) == EpStructs.FLOAT;
    }
}
