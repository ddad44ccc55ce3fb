package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;

/** Ends a call with a result code; {@link Calls} turns it into the exception of the call. */
final class CallFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int result;

    CallFailure(int result) {
        super(null, null, false, false);
        this.result = result;
    }

    CudaException of(CudaFunction function, String arguments) {
        return new CudaException(function, arguments, result);
    }
}
