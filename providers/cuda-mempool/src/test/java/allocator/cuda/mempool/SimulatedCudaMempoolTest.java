package allocator.cuda.mempool;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.simulated.SimulatedCudaDriver;

/** On a simulated device whose streams lag; closing it proves that nothing leaked and no work met other work. */
class SimulatedCudaMempoolTest extends CudaMempoolContract {
    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withLaggingStreams().build();

    @Override
    CudaDriver openDriver() {
        return driver;
    }

    @Override
    void closeDriver() {
        driver.close();
    }
}
