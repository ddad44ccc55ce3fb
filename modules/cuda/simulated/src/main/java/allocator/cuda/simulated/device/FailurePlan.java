package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import java.util.EnumMap;
import java.util.Map;

/** Counts calls, and holds which of them are to fail. */
final class FailurePlan {
    private final Map<CudaFunction, Long> calls = new EnumMap<>(CudaFunction.class);
    private final Map<CudaFunction, Failure> byFunction = new EnumMap<>(CudaFunction.class);
    private final Map<CudaFunction, Integer> always = new EnumMap<>(CudaFunction.class);
    private long total;
    private Failure any = Failure.NEVER;

    /**
     * A call that is to fail.
     *
     * @param call its number
     * @param result the result it fails with
     */
    private record Failure(long call, int result) {
        static final Failure NEVER = new Failure(-1, CudaResult.SUCCESS);
    }

    /** Counts a call, and throws if it is to fail. */
    void count(CudaFunction function) {
        final long call = ++total;
        final long ofFunction = calls.merge(function, 1L, Long::sum);
        int result = always.getOrDefault(function, CudaResult.SUCCESS);
        if (any.call == call) {
            result = any.result;
            any = Failure.NEVER;
        }
        final Failure failure = byFunction.getOrDefault(function, Failure.NEVER);
        if (failure.call == ofFunction) {
            result = failure.result;
            byFunction.remove(function);
        }
        if (result != CudaResult.SUCCESS) {
            throw new CallFailure(result);
        }
    }

    long total() {
        return total;
    }

    long calls(CudaFunction function) {
        return calls.getOrDefault(function, 0L);
    }

    void failOnCall(long number, int result) {
        any = new Failure(total + number, result);
    }

    void failOnCall(CudaFunction function, long number, int result) {
        byFunction.put(function, new Failure(calls(function) + number, result));
    }

    void failAlways(CudaFunction function, int result) {
        always.put(function, result);
    }

    void clear() {
        any = Failure.NEVER;
        byFunction.clear();
        always.clear();
    }
}
