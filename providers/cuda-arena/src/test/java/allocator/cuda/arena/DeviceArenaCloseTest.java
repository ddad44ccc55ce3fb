package allocator.cuda.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.DeviceException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The release of an arena whose memory queued work uses, while the driver cannot wait for the work. */
class DeviceArenaCloseTest {
    private static final int BYTES = 1 << 20;

    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withLaggingStreams().build();
    private final CudaArenaFixture arenas = new CudaArenaFixture();
    private SyncStream stream;

    @BeforeEach
    void open() {
        arenas.open(driver);
        stream = arenas.factory().createSyncStream(arenas.deviceMemory());
    }

    @AfterEach
    void close() {
        driver.controls().clearFailures();
        stream.close();
        arenas.factory().close();
        assertThat(driver.controls().takeHazards()).isEmpty();
        driver.close();
    }

    private StreamAwareAllocator used(String policy) {
        final StreamAwareAllocator arena = (StreamAwareAllocator) arenas.device("arena.policy", policy);
        final long block = arena.allocOnStream(BYTES, stream);
        driver.memory().memsetD8Async(0, block, (byte) 1, BYTES, stream.handle());
        arena.free(block);
        driver.controls().failAlways(CudaFunction.STREAM_SYNCHRONIZE, CudaResult.ILLEGAL_ADDRESS);
        return arena;
    }

    private void releaseFails(StreamAwareAllocator arena) {
        assertThatExceptionOfType(DeviceException.class)
                .isThrownBy(() -> arenas.factory().releaseAllocator(arena));
        assertThat(driver.controls().takeHazards()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "compact"})
    void theDeviceIsWaitedForWhereTheStreamCannotBe(String policy) {
        releaseFails(used(policy));
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "compact"})
    void memoryStaysUntilTheDeviceCanBeWaitedFor(String policy) {
        final StreamAwareAllocator arena = used(policy);
        driver.controls().failAlways(CudaFunction.CTX_SYNCHRONIZE, CudaResult.ILLEGAL_ADDRESS);
        releaseFails(arena);
        driver.controls().clearFailures();
        arenas.factory().releaseAllocator(arena);
    }
}
