package allocator.bench.models;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.CudaMemoryUsage;

/** What is in use on GPU 0, of all processes, as the driver says. */
final class DeviceMemory {
    private static final CudaDriver DRIVER = retain();

    private DeviceMemory() {}

    /** Retains the device's context for the rest of the process. */
    private static CudaDriver retain() {
        final CudaDriver driver = CudaDrivers.probe().orElseThrow(IllegalStateException::new);
        driver.devices().primaryContextRetain(0);
        return driver;
    }

    static double usedMebibytes() {
        final CudaMemoryUsage usage = DRIVER.memory().memGetInfo(0);
        return (usage.totalByteSize() - usage.freeByteSize()) / 0x1p20;
    }
}
