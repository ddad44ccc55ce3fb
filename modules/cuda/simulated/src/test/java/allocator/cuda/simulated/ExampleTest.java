package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.PoolAttribute;
import allocator.spi.StreamHazardException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The examples on the pages of the driver and of the simulated device, compiled and run. */
class ExampleTest {
    @Nested
    class DriverPage {
        @Test
        void aPoolWithAThresholdRetainsItsMemory() {
            CudaDriver driver = CudaDrivers.probe().orElse(reason -> {
                System.out.println(reason);
                return SimulatedCudaDriver.builder().withLaggingStreams().build();
            });
            CudaPools pools = driver.pools();
            int device = 0;
            driver.devices().primaryContextRetain(device);
            long stream = driver.streams().streamCreate(device);
            long pool = pools.memPoolCreate(device);
            pools.memPoolSetAttribute(device, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);

            long address = pools.memAllocFromPoolAsync(device, pool, 1 << 20, stream);
            driver.memory().memsetD8Async(device, address, (byte) 0, 1 << 20, stream);
            pools.memFreeAsync(device, address, stream);
            driver.streams().streamSynchronize(device, stream);
            long retained = pools.memPoolGetAttribute(device, pool, PoolAttribute.RESERVED_MEM_CURRENT);

            pools.memPoolDestroy(device, pool);
            driver.streams().streamDestroy(device, stream);
            driver.devices().primaryContextRelease(device);
            assertThat(retained).isGreaterThanOrEqualTo(1 << 20);
        }
    }

    @Nested
    class SimulatedPage {
        static long upload(CudaDriver driver, MemorySegment source, long stream) {
            long address = driver.memory().memAlloc(0, source.byteSize());
            try {
                driver.memory().memcpyHtoDAsync(0, address, source.address(), source.byteSize(), stream);
                return address;
            } catch (CudaException e) {
                driver.memory().memFree(0, address);
                throw e;
            }
        }

        @Test
        void aFailedCopyLeaksNoMemory() {
            try (SimulatedCudaDriver driver = SimulatedCudaDriver.builder().build();
                    Arena arena = Arena.ofConfined()) {
                driver.devices().primaryContextRetain(0);
                driver.controls().failOnCall(CudaFunction.MEMCPY_HTOD_ASYNC, 1, CudaResult.ILLEGAL_ADDRESS);

                assertThatThrownBy(() -> upload(driver, arena.allocate(1024), 0))
                        .isInstanceOf(CudaException.class);

                driver.devices().primaryContextRelease(0);
            } // close throws if anything was not freed
        }

        @Test
        void useOnAnotherStreamNeedsAnEvent() {
            SimulatedCudaDriver driver =
                    SimulatedCudaDriver.builder().withLaggingStreams().build();
            driver.devices().primaryContextRetain(0);
            long copies = driver.streams().streamCreate(0);
            long compute = driver.streams().streamCreate(0);
            long event = driver.streams().eventCreate(0);
            try (Arena arena = Arena.ofConfined()) {
                long address = upload(driver, arena.allocate(1024), copies);

                assertThatThrownBy(() -> driver.memory().memsetD8Async(0, address, (byte) 0, 1024, compute))
                        .isInstanceOf(StreamHazardException.class);

                driver.streams().eventRecord(0, event, copies);
                driver.streams().streamWaitEvent(0, compute, event);
                driver.memory().memsetD8Async(0, address, (byte) 0, 1024, compute);
                assertThat(driver.controls().advance(compute)).isZero();
                driver.controls().advanceAll();
            }
        }
    }
}
