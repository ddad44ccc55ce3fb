package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.simulated.SimulatedCudaDriver;
import jcuda.driver.JCudaHandles;

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

    /** A copy is the sum with zeros. */
    @Override
    KernelSample.Add kernel() {
        return (stream, target, source, count) -> driver.memory()
                .memcpyDtoDAsync(
                        0,
                        JCudaHandles.address(target),
                        JCudaHandles.address(source),
                        4L * count,
                        JCudaHandles.handle(stream));
    }

    @Override
    float right(int index) {
        return 0;
    }
}
