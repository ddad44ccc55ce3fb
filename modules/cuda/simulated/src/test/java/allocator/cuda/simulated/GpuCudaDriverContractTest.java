package allocator.cuda.simulated;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.simulated.CudaContract.Stall;
import allocator.cuda.simulated.CudaContract.TestDriver;
import allocator.testkit.Gpu;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;

/** The contract on this machine's GPU; skipped where there is none, unless one is required. */
class GpuCudaDriverContractTest {
    @Nested
    class Devices extends CudaDevicesContract {
        Devices() {
            super(Installed::new);
        }
    }

    @Nested
    class Memory extends CudaMemoryContract {
        Memory() {
            super(Installed::new);
        }
    }

    @Nested
    class Pools extends CudaPoolsContract {
        Pools() {
            super(Installed::new);
        }
    }

    @Nested
    class AddressRanges extends CudaAddressRangesContract {
        AddressRanges() {
            super(Installed::new);
        }
    }

    @Nested
    class Streams extends CudaStreamsContract {
        Streams() {
            super(Installed::new);
        }
    }

    @Nested
    class Threads extends CudaThreadsContract {
        Threads() {
            super(Installed::new);
        }
    }

    /** The installed driver. */
    private record Installed(CudaDriver driver) implements TestDriver {
        Installed() {
            this(CudaDrivers.probe().orElseThrow(Gpu::absent));
        }

        /** Submits a host function that waits, for a limited time in case the test itself waits for the stream. */
        @Override
        public Stall stall(long stream) {
            final CountDownLatch latch = new CountDownLatch(1);
            driver.streams().launchHostFunction(CudaContract.DEVICE, stream, () -> {
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
}
