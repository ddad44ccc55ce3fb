package allocator.cuda.testkit;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.testkit.Gpu;

/** The CUDA driver of this machine. */
public final class GpuDriver {
    private GpuDriver() {}

    /** Returns the driver, which has at least one device, or ends the test as {@link Gpu#absent} does. */
    public static CudaDriver require() {
        return CudaDrivers.probe().orElse(reason -> {
            throw Gpu.absent(reason);
        });
    }
}
