package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cuda.driver.CudaDriver;
import allocator.spi.DeviceType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/**
 * ONNX Runtime's forty tests of its CUDA plug-in's arenas, with null replaced by exceptions, and tests for the faults
 * of those arenas.
 */
abstract class CudaArenaContract {
    private final CudaArenaFixture gpu = new CudaArenaFixture();

    abstract CudaDriver openDriver();

    void closeDriver() {}

    @BeforeEach
    void open() {
        gpu.open(openDriver());
    }

    @AfterEach
    void close() {
        gpu.close();
        closeDriver();
    }

    @Test
    void theDeviceIsAGpu() {
        assertThat(gpu.deviceMemory().deviceType()).isEqualTo(DeviceType.GPU);
        assertThat(gpu.factory().isStreamAware(gpu.deviceMemory())).isTrue();
        assertThat(gpu.factory().isStreamAware(gpu.pinnedMemory())).isFalse();
    }

    @Nested
    class Device extends DeviceArenaContract {
        Device() {
            super(gpu);
        }
    }

    @Nested
    class Pinned extends PinnedArenaContract {
        Pinned() {
            super(gpu);
        }
    }

    @Nested
    class PagedReserves extends PagedReservesContract {
        PagedReserves() {
            super(gpu);
        }
    }

    @Nested
    class Mempool extends DevicePoolContract {
        Mempool() {
            super(gpu);
        }
    }

    @Nested
    class Lifetimes extends LifetimeContract {
        Lifetimes() {
            super(gpu);
        }
    }

    @Nested
    class Captures extends CaptureContract {
        Captures() {
            super(gpu);
        }
    }

    @Nested
    class KnownFaults extends KnownFaultsContract {
        KnownFaults() {
            super(gpu);
        }
    }
}
