package allocator.cuda.mempool;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.EpFactory;
import org.junit.jupiter.api.Test;

class CudaMempoolFactoryTest {
    @Test
    void withoutADriverThereIsNoDeviceAndAReason() {
        try (EpFactory factory = new CudaMempoolFactory(
                () -> new CudaAvailability.Unavailable("no CUDA driver: libcuda.so.1 not found"))) {
            assertThat(factory.discoverDevices().devices()).isEmpty();
            assertThat(factory.discoverDevices().notes()).containsExactly("no CUDA driver: libcuda.so.1 not found");
        }
    }

    @Test
    void aDeviceWithoutPoolsIsNotedAndNotListed() {
        try (SimulatedCudaDriver driver =
                        SimulatedCudaDriver.builder().withoutMemoryPools().build();
                EpFactory factory = new CudaMempoolFactory(() -> new CudaAvailability.Available(driver))) {
            assertThat(factory.discoverDevices().devices()).isEmpty();
            assertThat(factory.discoverDevices().notes())
                    .singleElement()
                    .asString()
                    .contains("gpu:0", "no memory pools");
        }
    }

    @Test
    void theDriverIsProbedByDiscoveryOnly() {
        try (EpFactory factory = new CudaMempoolFactory(() -> {
            throw new AssertionError("probed");
        })) {
            assertThat(factory.name()).isEqualTo("cuda-mempool");
            assertThat(factory.optionKeys()).isNotEmpty();
        }
    }
}
