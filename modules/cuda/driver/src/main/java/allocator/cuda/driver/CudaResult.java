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
    /** A stream, event or other handle is not valid, or belongs to another context. */
    public static final int INVALID_HANDLE = 400;
    /** Work is not complete; a status, not an error. */
    public static final int NOT_READY = 600;
    /** The device accessed an address that is not mapped; the context is unusable. */
    public static final int ILLEGAL_ADDRESS = 700;
    /** The call is not allowed here, for instance in a host function. */
    public static final int NOT_PERMITTED = 800;
    /** The device or the driver does not support the operation. */
    public static final int NOT_SUPPORTED = 801;

    private CudaResult() {}

    /**
     * Returns CUDA's name for a result code.
     *
     * @param result the code
     * @return its name, or {@code CUDA_ERROR_} and the number if JCuda does not know it
     */
    public static String nameOf(int result) {
        final String name = CUresult.stringFor(result);
        return name.startsWith("CUDA_") ? name : "CUDA_ERROR_" + result;
    }
}
