package allocator.cuda.simulated;

import allocator.cuda.driver.CudaDriver;
import org.junit.jupiter.api.AfterEach;

/** The contract on a simulated device whose streams go on only when somebody waits for them. */
class SimulatedCudaDriverContractTest extends CudaDriverContract {
    private SimulatedCudaDriver driver;

    @Override
    CudaDriver openDriver() {
        driver = SimulatedCudaDriver.builder().withLaggingStreams().build();
        return driver;
    }

    @Override
    Stall stall(CudaDriver lagging, int device, long stream) {
        return () -> {};
    }

    @Override
    @AfterEach
    void releaseContext() {
        super.releaseContext();
        driver.close();
    }
}
