package allocator.bench.models;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.CudaMemoryUsage;

/** What is in use on GPU 0, of all processes, as the driver says. */
final class DeviceMemory {
    private static final CudaDriver DRIVER = CudaDrivers.probe().orElseThrow(IllegalStateException::new);

    private DeviceMemory() {}

    static double usedMebibytes() {
        final CudaMemoryUsage usage = DRIVER.memory().memGetInfo(0);
        return (usage.totalByteSize() - usage.freeByteSize()) / 0x1p20;
    }
}
