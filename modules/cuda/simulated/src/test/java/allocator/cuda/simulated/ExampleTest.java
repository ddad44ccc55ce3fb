package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.PoolAttribute;
import org.junit.jupiter.api.Test;

/** The example of the module's page, compiled and run. */
class ExampleTest {

    @Test
    void thePoolKeepsItsMemory() {
        CudaDriver driver = switch (CudaDrivers.probe()) {
            case CudaAvailability.Available available -> available.driver();
            case CudaAvailability.Unavailable unavailable -> {
                System.out.println(unavailable.reason());
                yield SimulatedCudaDriver.builder().withLaggingStreams().build();
            }
        };
        int device = 0;
        driver.primaryContextRetain(device);
        long stream = driver.streamCreate(device);
        long pool = driver.memPoolCreate(device);
        driver.memPoolSetAttribute(device, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);

        long address = driver.memAllocFromPoolAsync(device, pool, 1 << 20, stream);
        driver.memsetD8Async(device, address, (byte) 0, 1 << 20, stream);
        driver.memFreeAsync(device, address, stream);
        driver.streamSynchronize(device, stream);
        long kept = driver.memPoolGetAttribute(device, pool, PoolAttribute.RESERVED_MEM_CURRENT);

        driver.memPoolDestroy(device, pool);
        driver.streamDestroy(device, stream);
        driver.primaryContextRelease(device);
        assertThat(kept).isGreaterThanOrEqualTo(1 << 20);
    }
}
