package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import java.lang.foreign.MemorySegment;
import jcuda.driver.CUresult;

/** Turns result codes into exceptions. */
final class Results {
    private static final int LAST_CODE = 999;
    private static final int MAX_NAME = 256;

    private Results() {}

    /** A call through JCuda. */
    @FunctionalInterface
    interface JCudaCall {
        int run();
    }

    /**
     * Returns the result code of a call through JCuda. JCuda throws instead of returning a code if any code in the
     * process has called {@code JCudaDriver.setExceptionsEnabled}.
     */
    static int ofJCuda(JCudaCall call) {
        try {
            return call.run();
        } catch (jcuda.CudaException e) {
            return ofName(String.valueOf(e.getMessage()));
        }
    }

    /** Returns the code of a name, {@code CUDA_ERROR_UNKNOWN} if JCuda has no such name. */
    static int ofName(String name) {
        for (int result = 0; result < LAST_CODE; result++) {
            if (CUresult.stringFor(result).equals(name)) {
                return result;
            }
        }
        return CUresult.CUDA_ERROR_UNKNOWN;
    }

    /** Throws if a call failed. Where the arguments would cost a call that must create no objects, test first. */
    static void check(int result, CudaFunction function, String format, Object... arguments) {
        if (result != CudaResult.SUCCESS) {
            throw failure(result, function, format, arguments);
        }
    }

    /** Returns the exception for a failed call. */
    @SuppressWarnings("AnnotateFormatMethod") // the annotation would be a dependency
    static CudaException failure(int result, CudaFunction function, String format, Object... arguments) {
        return new CudaException(function, format.formatted(arguments), result, nameOf(result));
    }

    /** Asks the driver, which knows names that are newer than JCuda. */
    @SuppressWarnings("restricted") // the driver returns the address of a constant
    private static String nameOf(int result) {
        final int cell = OutCell.take();
        try {
            if (LibCuda.callWithInt(LibCuda.GET_ERROR_NAME, result, OutCell.address(cell)) == CudaResult.SUCCESS) {
                return MemorySegment.ofAddress(OutCell.getLong(cell))
                        .reinterpret(MAX_NAME)
                        .getString(0);
            }
            return CudaResult.nameOf(result);
        } finally {
            OutCell.giveBack(cell);
        }
    }
}
