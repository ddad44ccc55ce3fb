package allocator.onnxruntime.ep.abi;

/**
 * The functions of ONNX Runtime that a plug-in execution provider calls: the table, the position in it, and the version
 * of the API that brought it. A position never changes.
 */
public enum EpFunction {
    CREATE_STATUS(Table.ORT_API, 0, 1),
    GET_TENSOR_MUTABLE_DATA(Table.ORT_API, 51, 1),
    CAST_TYPE_INFO_TO_TENSOR_INFO(Table.ORT_API, 55, 1),
    GET_TENSOR_ELEMENT_TYPE(Table.ORT_API, 60, 1),
    GET_DIMENSIONS_COUNT(Table.ORT_API, 61, 1),
    GET_DIMENSIONS(Table.ORT_API, 62, 1),
    GET_TENSOR_TYPE_AND_SHAPE(Table.ORT_API, 65, 1),
    KERNEL_CONTEXT_GET_INPUT(Table.ORT_API, 90, 1),
    KERNEL_CONTEXT_GET_OUTPUT(Table.ORT_API, 91, 1),
    RELEASE_MEMORY_INFO(Table.ORT_API, 94, 1),
    RELEASE_TENSOR_TYPE_AND_SHAPE_INFO(Table.ORT_API, 99, 1),
    GET_VALUE_INFO_NAME(Table.ORT_API, 289, 22),
    GET_VALUE_INFO_TYPE_INFO(Table.ORT_API, 290, 22),
    REGISTER_EXECUTION_PROVIDER_LIBRARY(Table.ORT_API, 301, 22),
    UNREGISTER_EXECUTION_PROVIDER_LIBRARY(Table.ORT_API, 302, 22),
    HARDWARE_DEVICE_TYPE(Table.ORT_API, 307, 22),
    HARDWARE_DEVICE_VENDOR_ID(Table.ORT_API, 308, 22),
    HARDWARE_DEVICE_DEVICE_ID(Table.ORT_API, 310, 22),
    GET_EP_API(Table.ORT_API, 317, 22),
    GET_TENSOR_SIZE_IN_BYTES(Table.ORT_API, 318, 23),
    CREATE_MEMORY_INFO_V2(Table.ORT_API, 320, 23),
    GRAPH_GET_NUM_NODES(Table.ORT_API, 344, 23),
    GRAPH_GET_NODES(Table.ORT_API, 345, 23),
    NODE_GET_OPERATOR_TYPE(Table.ORT_API, 350, 23),
    NODE_GET_DOMAIN(Table.ORT_API, 351, 23),
    NODE_GET_SINCE_VERSION(Table.ORT_API, 352, 23),
    NODE_GET_NUM_INPUTS(Table.ORT_API, 353, 23),
    NODE_GET_INPUTS(Table.ORT_API, 354, 23),
    NODE_GET_NUM_OUTPUTS(Table.ORT_API, 355, 23),
    NODE_GET_OUTPUTS(Table.ORT_API, 356, 23),
    GET_TENSOR_DATA(Table.ORT_API, 378, 23),
    GET_SESSION_OPTIONS_CONFIG_ENTRIES(Table.ORT_API, 379, 23),

    CREATE_EP_DEVICE(Table.ORT_EP_API, 0, 22),
    RELEASE_EP_DEVICE(Table.ORT_EP_API, 1, 22),
    EP_GRAPH_SUPPORT_INFO_ADD_NODES_TO_FUSE(Table.ORT_EP_API, 2, 23),
    EP_DEVICE_ADD_ALLOCATOR_INFO(Table.ORT_EP_API, 5, 23),
    MEMORY_INFO_GET_MEMORY_DEVICE(Table.ORT_EP_API, 6, 23),
    VALUE_GET_MEMORY_DEVICE(Table.ORT_EP_API, 7, 23),
    MEMORY_DEVICE_ARE_EQUAL(Table.ORT_EP_API, 8, 23),
    MEMORY_DEVICE_GET_DEVICE_TYPE(Table.ORT_EP_API, 9, 23),
    MEMORY_DEVICE_GET_MEMORY_TYPE(Table.ORT_EP_API, 10, 23),
    MEMORY_DEVICE_GET_VENDOR_ID(Table.ORT_EP_API, 11, 23),
    MEMORY_DEVICE_GET_DEVICE_ID(Table.ORT_EP_API, 12, 23),
    SYNC_STREAM_GET_IMPL(Table.ORT_EP_API, 13, 23),
    GET_ENV_CONFIG_ENTRIES(Table.ORT_EP_API, 49, 24);

    /** A table of functions. */
    enum Table {
        /** {@code OrtApi}. */
        ORT_API,
        /** {@code OrtEpApi}. */
        ORT_EP_API
    }

    private final Table table;
    private final int position;
    private final int since;

    EpFunction(Table table, int position, int since) {
        this.table = table;
        this.position = position;
        this.since = since;
    }

    Table table() {
        return table;
    }

    int position() {
        return position;
    }

    /** Returns the version of the API that brought the function. */
    int since() {
        return since;
    }
}
