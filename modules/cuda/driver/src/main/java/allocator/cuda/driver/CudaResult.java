package allocator.cuda.driver;

import jcuda.driver.CUresult;

/** Result codes of the driver that this project distinguishes, and the names of all codes. */
public final class CudaResult {
    /** The call succeeded. */
    public static final int SUCCESS = 0;
    /** An argument is out of range. */
    public static final int INVALID_VALUE = 1;
    /** The device, or the host, has not enough memory. */
    public static final int OUT_OF_MEMORY = 2;
    /** The driver is not initialized. */
    public static final int NOT_INITIALIZED = 3;
    /** The driver is shutting down, as the process is ending. */
    public static final int DEINITIALIZED = 4;
    /** The process can use no device. */
    public static final int NO_DEVICE = 100;
    /** No device has that ordinal. */
    public static final int INVALID_DEVICE = 101;
    /** No usable context. */
    public static final int INVALID_CONTEXT = 201;
    /** The device cannot access the other one's memory. */
    public static final int PEER_ACCESS_UNSUPPORTED = 217;
    /** A stream, event or other handle is not valid, or belongs to another context. */
    public static final int INVALID_HANDLE = 400;
    /** The call does not fit the state of what it works on. */
    public static final int ILLEGAL_STATE = 401;
    /** Work is not complete; a status, not an error. */
    public static final int NOT_READY = 600;
    /** The device accessed an address that is not mapped; the context is unusable. */
    public static final int ILLEGAL_ADDRESS = 700;
    /** Access to the other device's memory is enabled already; a status, not an error. */
    public static final int PEER_ACCESS_ALREADY_ENABLED = 704;
    /** The context of a handle is destroyed. */
    public static final int CONTEXT_IS_DESTROYED = 709;
    /** The call is not allowed here, for instance in a host function. */
    public static final int NOT_PERMITTED = 800;
    /** The device or the driver does not support the operation. */
    public static final int NOT_SUPPORTED = 801;

    /** The call is not possible while a stream is being captured, and has invalidated the capture. */
    public static final int STREAM_CAPTURE_UNSUPPORTED = 900;
    /** The capture was invalidated by an earlier call. */
    public static final int STREAM_CAPTURE_INVALIDATED = 901;
    /** The call would merge a capture with another one. */
    public static final int STREAM_CAPTURE_MERGE = 902;
    /** The capture was not begun on this stream. */
    public static final int STREAM_CAPTURE_UNMATCHED = 903;
    /** A stream that joined the capture has work that its first stream has not waited for. */
    public static final int STREAM_CAPTURE_UNJOINED = 904;
    /** A captured stream would wait for work outside the capture. */
    public static final int STREAM_CAPTURE_ISOLATION = 905;
    /** The call would make the legacy default stream part of a capture. */
    public static final int STREAM_CAPTURE_IMPLICIT = 906;
    /** An event was recorded on a captured stream, and can only be waited for in that capture. */
    public static final int CAPTURED_EVENT = 907;

    private CudaResult() {}

    /**
     * {@return CUDA's name for a result code, or {@code CUDA_ERROR_} and the number if JCuda does not know it}
     *
     * @param result the code
     */
    public static String nameOf(int result) {
        final String name = CUresult.stringFor(result);
        return name.startsWith("CUDA_") ? name : "CUDA_ERROR_" + result;
    }
}
