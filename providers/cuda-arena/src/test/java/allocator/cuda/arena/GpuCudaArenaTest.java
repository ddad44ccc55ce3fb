package allocator.cuda.arena;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.testkit.GpuDriver;

/** On this machine's GPU. */
class GpuCudaArenaTest extends CudaArenaContract {
    @Override
    CudaDriver openDriver() {
        return GpuDriver.require();
    }
}
