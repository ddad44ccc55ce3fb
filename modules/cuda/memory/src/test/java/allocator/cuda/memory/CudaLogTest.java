package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CudaLogTest {
    private static final int UNKNOWN_ERROR = 999;

    private final Logger logger = Logger.getLogger("allocator.cuda.memory");
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            lines.add(record.getLevel() + " " + new SimpleFormatter().formatMessage(record));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @BeforeEach
    void listen() {
        logger.setLevel(Level.ALL);
        logger.setUseParentHandlers(false);
        logger.addHandler(handler);
    }

    @AfterEach
    void stop() {
        logger.removeHandler(handler);
        logger.setUseParentHandlers(true);
        logger.setLevel(null);
    }

    @Test
    void whetherThereIsADriver() {
        final CudaEpFactory none = new CudaEpFactory(() -> new CudaAvailability.Unavailable("libcuda.so.1 not found")) {
            @Override
            public String name() {
                return "none";
            }

            @Override
            protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
                throw new AssertionError();
            }
        };
        none.discoverDevices();
        assertThat(lines).containsExactly("FINE none: no device: libcuda.so.1 not found");
        lines.clear();
        try (SimulatedGpu gpu = SimulatedGpu.of(SimulatedCudaDriver.builder())) {
            gpu.discoverDevices();
            assertThat(lines)
                    .singleElement()
                    .asString()
                    .startsWith("FINE ")
                    .contains("the CUDA driver was found, with the devices [");
        }
    }

    @Test
    void theSettingsOfAPool() {
        try (SimulatedGpu gpu = SimulatedGpu.of(SimulatedCudaDriver.builder())) {
            final DriverPool pool = gpu.pool("arena.max_mem", "100");
            assertThat(lines).contains("FINE Cuda (gpu:0): a pool of the driver with " + pool.effectiveOptions());
            gpu.releaseAllocator(pool);
        }
    }

    @Test
    void memoryThatTheDriverDoesNotTakeBackIsAWarning() {
        final Logger ledger = Logger.getLogger("allocator.provider.support.BlockLedger");
        ledger.addHandler(handler);
        try (SimulatedGpu gpu = SimulatedGpu.of(SimulatedCudaDriver.builder())) {
            final DriverPool pool = gpu.pool();
            final long address = pool.alloc(1000);
            gpu.driver.controls().failAlways(CudaFunction.MEM_FREE_ASYNC, UNKNOWN_ERROR);
            pool.free(address);
            assertThat(lines)
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("WARNING Cuda (gpu:0): the device did not take back 1000 bytes at 0x"
                                    + Long.toHexString(address) + ", they stay held: "));
            gpu.driver.controls().clearFailures();
            gpu.releaseAllocator(pool);
        } finally {
            ledger.removeHandler(handler);
        }
    }

    @Test
    void aFailedCallOfTheDriver() {
        try (SimulatedGpu gpu = SimulatedGpu.of(SimulatedCudaDriver.builder())) {
            final SyncStream stream = gpu.stream();
            gpu.driver.controls().failOnCall(CudaFunction.STREAM_SYNCHRONIZE, 1, CudaResult.ILLEGAL_ADDRESS);
            assertThatThrownBy(stream::flush).isInstanceOf(DeviceException.class);
            assertThat(lines)
                    .anySatisfy(line -> assertThat(line).startsWith("FINE a call of the driver failed: cuStreamSync"));
            stream.close();
        }
    }
}
