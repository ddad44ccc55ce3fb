package allocator.cuda.mempool;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/** This machine's GPU. */
final class Gpu {
    private Gpu() {}

    /** The driver; without one the test is skipped, or failed where {@code allocator.gpu.required} says so. */
    static CudaDriver require() {
        return switch (CudaDrivers.probe()) {
            case CudaAvailability.Available(CudaDriver driver) -> driver;
            case CudaAvailability.Unavailable(String reason) ->
                Boolean.getBoolean("allocator.gpu.required")
                        ? Assertions.fail("allocator.gpu.required is set, but " + reason)
                        : Assumptions.abort(reason);
        };
    }
}
