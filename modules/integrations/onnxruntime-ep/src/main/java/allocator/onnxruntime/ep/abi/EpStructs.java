package allocator.onnxruntime.ep.abi;

/**
 * The structs that a plug-in execution provider makes for ONNX Runtime, as its public headers declare them. Offsets in
 * bytes; each member but the first is a pointer to a function.
 *
 * <p>A struct states the version of the API that its maker knows, and ONNX Runtime reads no member that came later. All
 * structs here state {@link #VERSION}, whose members have kept their places in 1.23 to 1.29. Behind them a struct has
 * zeros, so that a member read by mistake is an absent one. {@code OrtAllocator} is apart: its version says what the
 * allocator can do.
 */
public final class EpStructs {
    /** The version of the API that the structs state: the first with all members below. */
    public static final int VERSION = 23;

    /** Where each struct has its version. */
    public static final int STRUCT_VERSION = 0;

    /** The size of each struct: of the largest one that 1.29 knows, and more. */
    public static final int BYTE_SIZE = 512;

    /** How many factories ONNX Runtime takes of a library. */
    public static final int MAX_FACTORIES = 4;

    /** {@code OrtReadOnlyAllocator}, the {@code OrtAllocatorType} of memory for initializers. */
    public static final int READ_ONLY_ALLOCATOR = 2;

    /** {@code OrtDeviceMemoryType_HOST_ACCESSIBLE}; the default memory has 0. */
    public static final int HOST_ACCESSIBLE = 5;

    /** {@code ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT}. */
    public static final int FLOAT = 1;

    /** {@code ORT_INVALID_ARGUMENT}, an {@code OrtErrorCode}. */
    public static final int INVALID_ARGUMENT = 2;

    /** {@code ORT_EP_FAIL}, an {@code OrtErrorCode}. */
    public static final int EP_FAIL = 11;

    private EpStructs() {}

    /** {@code OrtEpFactory}: all members from version 22 on, those from {@link #GET_VENDOR_ID} on from version 23. */
    public static final class Factory {
        public static final int GET_NAME = 8;
        public static final int GET_VENDOR = 16;
        public static final int GET_SUPPORTED_DEVICES = 24;
        public static final int CREATE_EP = 32;
        public static final int RELEASE_EP = 40;
        public static final int GET_VENDOR_ID = 48;
        public static final int GET_VERSION = 56;
        public static final int CREATE_ALLOCATOR = 72;
        public static final int RELEASE_ALLOCATOR = 80;
        public static final int CREATE_DATA_TRANSFER = 88;
        public static final int IS_STREAM_AWARE = 96;
        public static final int CREATE_SYNC_STREAM_FOR_DEVICE = 104;

        private Factory() {}
    }

    /** {@code OrtEp}: {@link #GET_NAME} from version 22 on, the others from version 23. */
    public static final class Ep {
        public static final int GET_NAME = 8;
        public static final int GET_CAPABILITY = 16;
        public static final int COMPILE = 24;
        public static final int RELEASE_NODE_COMPUTE_INFOS = 32;
        public static final int CREATE_ALLOCATOR = 80;

        private Ep() {}
    }

    /** {@code OrtNodeComputeInfo}, from version 23 on. */
    public static final class NodeComputeInfo {
        public static final int CREATE_STATE = 8;
        public static final int COMPUTE = 16;
        public static final int RELEASE_STATE = 24;

        private NodeComputeInfo() {}
    }

    /** {@code OrtDataTransferImpl}, from version 23 on. */
    public static final class DataTransfer {
        public static final int RELEASE = 8;
        public static final int CAN_COPY = 16;
        public static final int COPY_TENSORS = 24;

        private DataTransfer() {}
    }

    /** {@code OrtSyncStreamImpl}, from version 23 on. */
    public static final class SyncStream {
        public static final int RELEASE = 8;
        public static final int GET_HANDLE = 16;
        public static final int CREATE_NOTIFICATION = 24;
        public static final int FLUSH = 32;
        public static final int ON_SESSION_RUN_END = 40;

        private SyncStream() {}
    }

    /** {@code OrtSyncNotificationImpl}, from version 23 on. */
    public static final class SyncNotification {
        public static final int RELEASE = 8;
        public static final int ACTIVATE = 16;
        public static final int WAIT_ON_DEVICE = 24;
        public static final int WAIT_ON_HOST = 32;

        private SyncNotification() {}
    }
}
