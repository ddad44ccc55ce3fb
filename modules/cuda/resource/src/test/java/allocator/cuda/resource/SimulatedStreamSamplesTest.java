package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.simulated.SimulatedCudaDriver;

/** On a simulated device whose streams lag; closing it proves that nothing leaked. */
class SimulatedStreamSamplesTest extends StreamSamplesContract {
    private SimulatedCudaDriver driver;

    @Override
    CudaDriver openDriver() {
        driver = SimulatedCudaDriver.builder().withLaggingStreams().build();
        return driver;
    }

    @Override
    void closeDriver() {
        driver.close();
    }
}
