package allocator.cuda.driver;

import java.util.function.Function;

/** Whether this process can use CUDA. */
public sealed interface CudaAvailability {
    /**
     * {@return the driver, or the substitute that the fallback returned}
     *
     * @param fallback makes the substitute; called with the reason if there is no driver
     */
    default CudaDriver orElse(Function<? super String, ? extends CudaDriver> fallback) {
        return switch (this) {
            case Available(CudaDriver driver) -> driver;
            case Unavailable(String reason) -> fallback.apply(reason);
        };
    }

    /**
     * {@return the driver}
     *
     * @param <X> type of the exception
     * @param failure makes the exception from the reason why there is no driver
     * @throws X if there is no driver
     */
    default <X extends Throwable> CudaDriver orElseThrow(Function<? super String, ? extends X> failure) throws X {
        return switch (this) {
            case Available(CudaDriver driver) -> driver;
            case Unavailable(String reason) -> throw failure.apply(reason);
        };
    }

    /**
     * The process can use CUDA.
     *
     * @param driver the driver, the same object each time; it has at least one device
     */
    record Available(CudaDriver driver) implements CudaAvailability {}

    /**
     * The process cannot use CUDA.
     *
     * @param reason one line with the cause, and with the remedy if there is one
     */
    record Unavailable(String reason) implements CudaAvailability {}
}
