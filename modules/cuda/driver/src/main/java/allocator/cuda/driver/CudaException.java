package allocator.cuda.driver;

/** A failed call to the CUDA driver. The call changed nothing. */
public final class CudaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The function that was called. */
    private final CudaFunction function;

    /** The driver's result code. */
    private final int result;

    /** CUDA's name of it. */
    private final String resultName;

    /**
     * Describes a failed call.
     *
     * @param function the function that was called
     * @param arguments its arguments, readable, for instance {@code device=0, byteSize=1024}
     * @param result the driver's result code
     */
    public CudaException(CudaFunction function, String arguments, int result) {
        this(function, arguments, result, CudaResult.nameOf(result));
    }

    /**
     * Describes a failed call whose result has a name that {@link CudaResult} may not know.
     *
     * @param function the function that was called
     * @param arguments its arguments, readable, for instance {@code device=0, byteSize=1024}
     * @param result the driver's result code
     * @param resultName the driver's name of the code
     */
    public CudaException(CudaFunction function, String arguments, int result, String resultName) {
        super(function.functionName() + '(' + arguments + ") failed with " + resultName + " (" + result + ')');
        this.function = function;
        this.result = result;
        this.resultName = resultName;
    }

    /** {@return the function that was called} */
    public CudaFunction function() {
        return function;
    }

    /** {@return the driver's result code, never {@link CudaResult#SUCCESS}} */
    public int result() {
        return result;
    }

    /** {@return CUDA's name of the result code, for instance {@code CUDA_ERROR_OUT_OF_MEMORY}} */
    public String resultName() {
        return resultName;
    }

    /** {@return whether memory is exhausted ({@link CudaResult#OUT_OF_MEMORY}); existing allocations stay valid} */
    public boolean isOutOfMemory() {
        return result == CudaResult.OUT_OF_MEMORY;
    }
}
