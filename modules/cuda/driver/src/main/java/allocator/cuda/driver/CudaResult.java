package allocator.cuda.driver;

import jcuda.driver.CUresult;

/** Result codes of the driver, as far as this project tells them apart, and the names of all. */
public final class CudaResult {
    /** The call succeeded. */
    public static final int SUCCESS = 0;
    /** An argument is out of range. */
    public static final int INVALID_VALUE = 1;
    /** The device, or the host, has not enough memory. */
    public static final int OUT_OF_MEMORY = 2;
    /** The driver is not initialized. */
    public static final int NOT_INITIALIZED = 3;
    /** The process is ending and the driver with it. */
    public static final int DEINITIALIZED = 4;
    /** The process sees no device. */
    public static final int NO_DEVICE = 100;
    /** There is no device of that ordinal. */
    public static final int INVALID_DEVICE = 101;
    /** There is no usable context. */
    public static final int INVALID_CONTEXT = 201;
    /** A stream, event or other handle is not valid, or belongs to another context. */
    public static final int INVALID_HANDLE = 400;
    /** Work is not done yet; an answer, not an error. */
    public static final int NOT_READY = 600;
    /** The device touched memory that is not there; the context is lost. */
    public static final int ILLEGAL_ADDRESS = 700;
    /** The call is not allowed here, for instance in a host function. */
    public static final int NOT_PERMITTED = 800;
    /** Device or driver cannot do that. */
    public static final int NOT_SUPPORTED = 801;

    private static final int LAST = 999;

    private CudaResult() {}

    /**
     * Returns CUDA's name for a result code.
     *
     * @param result the code
     * @return its name, or {@code CUDA_ERROR_} and the number if it is newer than this table
     */
    public static String nameOf(int result) {
        final String name = CUresult.stringFor(result);
        return name.startsWith("CUDA_") ? name : "CUDA_ERROR_" + result;
    }

    /** The code of a name, {@code CUDA_ERROR_UNKNOWN} if there is none such. */
    static int ofName(String name) {
        for (int result = 0; result < LAST; result++) {
            if (CUresult.stringFor(result).equals(name)) {
                return result;
            }
        }
        return CUresult.CUDA_ERROR_UNKNOWN;
    }
}
