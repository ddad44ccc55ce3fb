package allocator.cuda.simulated;

import allocator.cuda.simulated.CudaContract.Stall;
import allocator.cuda.simulated.CudaContract.TestDriver;
import org.junit.jupiter.api.Nested;

/** The contract on a simulated device whose streams execute work only when a call waits for it. */
class SimulatedCudaDriverContractTest {
    @Nested
    class Devices extends CudaDevicesContract {
        Devices() {
            super(Lagging::new);
        }
    }

    @Nested
    class Memory extends CudaMemoryContract {
        Memory() {
            super(Lagging::new);
        }
    }

    @Nested
    class Pools extends CudaPoolsContract {
        Pools() {
            super(Lagging::new);
        }
    }

    @Nested
    class AddressRanges extends CudaAddressRangesContract {
        AddressRanges() {
            super(Lagging::new);
        }
    }

    @Nested
    class Streams extends CudaStreamsContract {
        Streams() {
            super(Lagging::new);
        }
    }

    @Nested
    class Threads extends CudaThreadsContract {
        Threads() {
            super(Lagging::new);
        }
    }

    /** A stream that lags needs nothing to be stalled. */
    private record Lagging(SimulatedCudaDriver driver) implements TestDriver {
        Lagging() {
            this(SimulatedCudaDriver.builder().withLaggingStreams().build());
        }

        @Override
        public Stall stall(long stream) {
            return () -> {};
        }

        @Override
        public void close() {
            driver.close();
        }
    }
}
