package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.runtime.Environment;
import allocator.runtime.ManagedAllocator;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.DeviceException;
import allocator.spi.MemoryType;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Copies of arrays, which go through a stream of the session, while the device fails. */
class FailedCopyTest {
    private static final int UNKNOWN_ERROR = 999;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withLaggingStreams().build();
    private final Environment environment =
            Environment.builder().modulePathProviders(false).build();
    private final Session session;
    private final ManagedAllocator gpu;
    private final ManagedAllocator pinned;
    private final long block;
    private final byte[] bytes = new byte[4096];

    FailedCopyTest() {
        environment.register(driver.provider("cuda-arena"));
        session = environment.openSession(SessionOptions.builder()
                .provider("cuda-arena")
                .option("ep.cuda-arena.arena.check_streams", "1")
                .build());
        gpu = session.allocator();
        pinned = session.allocators().stream()
                .filter(allocator -> allocator.info().memoryType() == MemoryType.HOST_ACCESSIBLE)
                .findFirst()
                .orElseThrow();
        block = gpu.alloc(bytes.length);
    }

    @AfterEach
    void nothingIsLeft() {
        environment.close();
        driver.close(); // throws if anything is left
    }

    private void copy() {
        session.transfers().copy(MemorySegment.ofArray(bytes), gpu.range(block, bytes.length));
    }

    private void leaveACopyUnderWay() {
        driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(this::copy);
        assertThat(pinned.stats().bytesInUse()).as("the buffer of the copy").isPositive();
        driver.controls().clearFailures();
    }

    @Test
    void theNextCopyWaitsForTheOneThatMayBeUnderWay() {
        leaveACopyUnderWay();
        copy();
        assertThat(pinned.stats().bytesInUse()).isZero();
        gpu.free(block);
        session.close();
    }

    @Test
    void noCopyFollowsOneThatMayBeUnderWay() {
        driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, UNKNOWN_ERROR);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(this::copy);
        final long held = pinned.stats().bytesInUse();
        for (int i = 0; i < 10; i++) {
            assertThatExceptionOfType(DeviceException.class).isThrownBy(this::copy);
        }
        assertThat(pinned.stats().bytesInUse()).isEqualTo(held);
        driver.controls().clearFailures();
        gpu.free(block);
        session.close();
    }

    @Test
    void theCloseOfTheSessionWaitsForIt() {
        leaveACopyUnderWay();
        session.close();
        gpu.free(block);
        assertThat(driver.controls().hazards()).isEmpty();
    }

    @Test
    void aDeviceThatDoesNotSayWhetherItCapturesIsWaitedForNevertheless() {
        driver.controls().failAlways(CudaFunction.STREAM_IS_CAPTURING, UNKNOWN_ERROR);
        copy();
        gpu.free(block);
        session.close();
    }
}
