package allocator.cuda.simulated;

import static org.assertj.core.api.Assertions.fail;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** The contract on this machine's GPU; skipped where there is none, unless one is required. */
class GpuCudaDriverTest extends CudaDriverContract {
    @Override
    CudaDriver openDriver() {
        return requireGpu();
    }

    static CudaDriver requireGpu() {
        return switch (CudaDrivers.probe()) {
            case CudaAvailability.Available available -> available.driver();
            case CudaAvailability.Unavailable unavailable -> {
                if (Boolean.getBoolean("allocator.gpu.required")) {
                    yield fail("allocator.gpu.required is set, but " + unavailable.reason());
                }
                yield Assumptions.abort(unavailable.reason());
            }
        };
    }

    /** A host function that waits; it gives up in the end, should the test wait for the device meanwhile. */
    @Override
    Stall stall(CudaDriver driver, int device, long stream) {
        final CountDownLatch latch = new CountDownLatch(1);
        driver.streams().launchHostFunction(device, stream, () -> {
            try {
                if (!latch.await(20, TimeUnit.SECONDS)) {
                    throw new IllegalStateException("the test waited for the stream that it stalls");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        return latch::countDown;
    }
}
