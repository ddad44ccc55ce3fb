package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.testkit.Gpu;

/** On this machine's GPU. */
class GpuStreamSamplesTest extends StreamSamplesContract {
    @Override
    CudaDriver openDriver() {
        return CudaDrivers.probe().orElseThrow(Gpu::absent);
    }

    @Override
    void closeDriver() {}

    @Override
    KernelSample.Add kernel() {
        return KernelSample.load();
    }
}
