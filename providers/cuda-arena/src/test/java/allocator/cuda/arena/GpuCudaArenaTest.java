package allocator.cuda.arena;

import allocator.cuda.driver.CudaDriver;

/** On this machine's GPU. */
class GpuCudaArenaTest extends CudaArenaContract {
    @Override
    CudaDriver openDriver() {
        return Gpu.require();
    }
}
