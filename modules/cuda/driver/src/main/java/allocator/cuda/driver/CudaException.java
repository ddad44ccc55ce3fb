package allocator.cuda.driver;

/** A call to the CUDA driver that failed; it changed nothing. */
public final class CudaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What was called. */
    private final CudaFunction function;

    /** The driver's result code. */
    private final int result;

    /** CUDA's name of it. */
    private final String resultName;

    /**
     * Describes a failed call.
     *
     * @param function what was called
     * @param arguments its arguments, readable, for instance {@code device=0, byteSize=1024}
     * @param result the driver's result code
     */
    public CudaException(CudaFunction function, String arguments, int result) {
        this(function, arguments, result, CudaResult.nameOf(result));
    }

    CudaException(CudaFunction function, String arguments, int result, String resultName) {
        super(function.functionName() + '(' + arguments + ") failed with " + resultName + " (" + result + ')');
        this.function = function;
        this.result = result;
        this.resultName = resultName;
    }

    /**
     * Returns what was called.
     *
     * @return the function
     */
    public CudaFunction function() {
        return function;
    }

    /**
     * Returns the driver's result code.
     *
     * @return the code, never {@link CudaResult#SUCCESS}
     */
    public int result() {
        return result;
    }

    /**
     * Returns CUDA's name of the result code.
     *
     * @return for instance {@code CUDA_ERROR_OUT_OF_MEMORY}
     */
    public String resultName() {
        return resultName;
    }

    /**
     * Returns whether memory ran out; all that is allocated stays valid.
     *
     * @return true for {@link CudaResult#OUT_OF_MEMORY}
     */
    public boolean isOutOfMemory() {
        return result == CudaResult.OUT_OF_MEMORY;
    }
}
