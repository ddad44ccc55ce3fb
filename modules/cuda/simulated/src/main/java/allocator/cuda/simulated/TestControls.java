package allocator.cuda.simulated;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.spi.StreamHazardException;
import java.util.List;

/**
 * What a test does to the simulated devices and reads from them: progress of streams, injected failures, numbers of
 * calls, and detected misuse.
 *
 * @implSpec Implementations are thread-safe.
 */
public interface TestControls {
    /**
     * Executes the queued work of one stream, up to the first wait for another stream that has not got so far.
     *
     * @param stream a stream, not a default stream
     * @return the number of operations executed
     * @throws IllegalArgumentException if there is no such stream
     */
    int advance(long stream);

    /** Executes all queued work of all streams, including destroyed streams. */
    void advanceAll();

    /**
     * Makes one call fail, of whatever function. Replaces an earlier choice.
     *
     * @param number which call, counted from now; {@code 1} is the next
     * @param result the result it fails with, a constant of {@link CudaResult}
     */
    void failOnCall(long number, int result);

    /**
     * Makes one call of a function fail. Replaces an earlier choice for the function.
     *
     * @param function the function
     * @param number which of its calls, counted from now; {@code 1} is the next
     * @param result the result it fails with, a constant of {@link CudaResult}
     */
    void failOnCall(CudaFunction function, long number, int result);

    /**
     * Makes every call of a function fail, until {@link #clearFailures}.
     *
     * @param function the function
     * @param result the result they fail with, a constant of {@link CudaResult}
     */
    void failAlways(CudaFunction function, int result);

    /** Cancels all failures that were requested. */
    void clearFailures();

    /** {@return the number of calls of all functions, including failed calls} */
    long calls();

    /**
     * {@return the number of calls of a function, including failed calls}
     *
     * @param function the function
     */
    long calls(CudaFunction function);

    /** {@return the messages of all {@linkplain StreamHazardException stream hazards} so far, one line for each} */
    List<String> hazards();

    /**
     * {@return the same as {@link #hazards}, one line for each, and forgets them} A test that expects a hazard calls
     * this, so that {@link SimulatedCudaDriver#close} does not report it.
     */
    List<String> takeHazards();

    /**
     * {@return everything that is allocated, created or retained now, and everything that still was when its context
     * was destroyed: one line for each, an allocation with its function and the number of the call}
     */
    List<String> leaks();
}
