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
        driver.devices().primaryContextRetain(device);
        long stream = driver.streams().streamCreate(device);
        long pool = driver.pools().memPoolCreate(device);
        driver.pools().memPoolSetAttribute(device, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);

        long address = driver.pools().memAllocFromPoolAsync(device, pool, 1 << 20, stream);
        driver.memory().memsetD8Async(device, address, (byte) 0, 1 << 20, stream);
        driver.pools().memFreeAsync(device, address, stream);
        driver.streams().streamSynchronize(device, stream);
        long kept = driver.pools().memPoolGetAttribute(device, pool, PoolAttribute.RESERVED_MEM_CURRENT);

        driver.pools().memPoolDestroy(device, pool);
        driver.streams().streamDestroy(device, stream);
        driver.devices().primaryContextRelease(device);
        assertThat(kept).isGreaterThanOrEqualTo(1 << 20);
    }
}
