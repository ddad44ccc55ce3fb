package allocator.cuda.driver;

import allocator.cuda.driver.libcuda.NativeCudaDriver;
import allocator.cuda.driver.libcuda.Prerequisites;
import org.jspecify.annotations.Nullable;

/** Finds this machine's CUDA driver. */
public final class CudaDrivers {
    private static @Nullable CudaDriver driver;

    private CudaDrivers() {}

    /**
     * Returns the CUDA driver of this machine, or the reason why this process cannot use one.
     *
     * <p>May be called at any time and any number of times: a failed attempt has no lasting effect, and a later one can
     * succeed. Retains no context. The first success initializes the driver.
     *
     * @return the driver, or the reason why there is none
     */
    public static synchronized CudaAvailability probe() {
        if (driver == null) {
            final @Nullable String unmet = Prerequisites.firstUnmet();
            if (unmet != null) {
                return new CudaAvailability.Unavailable(unmet);
            }
            try {
                driver = new NativeCudaDriver(Prerequisites.driverVersion());
            } catch (CudaException e) {
                return new CudaAvailability.Unavailable(e.function().functionName() + " failed with " + e.resultName());
            }
        }
        return new CudaAvailability.Available(driver);
    }
}
