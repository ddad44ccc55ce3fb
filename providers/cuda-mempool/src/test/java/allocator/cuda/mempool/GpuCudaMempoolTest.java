package allocator.cuda.mempool;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.testkit.GpuDriver;

/** On this machine's GPU. */
class GpuCudaMempoolTest extends CudaMempoolContract {
    @Override
    CudaDriver openDriver() {
        return GpuDriver.require();
    }
}
