package allocator.cuda.testkit;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.testkit.Gpu;

/** The CUDA driver of this machine. */
public final class GpuDriver {
    private GpuDriver() {}

    /**
     * Returns the driver, or ends the test as {@link Gpu#absent} does.
     *
     * @return the driver, which has at least one device
     */
    public static CudaDriver require() {
        return switch (CudaDrivers.probe()) {
            case CudaAvailability.Available(CudaDriver driver) -> driver;
            case CudaAvailability.Unavailable(String reason) -> throw Gpu.absent(reason);
        };
    }
}
