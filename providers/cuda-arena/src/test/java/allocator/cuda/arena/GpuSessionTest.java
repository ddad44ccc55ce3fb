package allocator.cuda.arena;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.testkit.GpuDriver;

/** On this machine's GPU. */
class GpuSessionTest extends SessionContract {
    @Override
    CudaDriver openDriver() {
        return GpuDriver.require();
    }

    @Override
    void closeDriver() {}
}
