package allocator.cuda.mempool;

import allocator.cuda.driver.CudaDriver;

/** On this machine's GPU. */
class GpuMempoolTest extends MempoolContract {
    @Override
    CudaDriver openDriver() {
        return Gpu.require();
    }
}
