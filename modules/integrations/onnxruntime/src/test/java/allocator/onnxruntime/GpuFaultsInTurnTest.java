package allocator.onnxruntime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.onnxruntime.support.IdentityModel;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two sessions on one GPU: call n of the driver fails, once or for good, for every n. Then the driver works again, and
 * all is as if nothing had failed: sessions run, no byte is lost, and everything closes.
 */
class GpuFaultsInTurnTest {
    private static final long MIB = 1 << 20;
    private static final int STREAMS = 2;

    /** The sessions, and what ONNX Runtime would have of them. */
    private static final class World {
        private final SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withLaggingStreams().build();
        private final EpFactory provider = driver.provider("cuda-arena");
        private final MemoryInfo info =
                provider.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        private final long[] handles = new long[STREAMS];
        private final long[] streams = new long[STREAMS];
        private final List<Runnable> frees = new ArrayList<>();
        private final OnnxRuntimeAllocators memory;
        private final AllocatorSession first;
        private final AllocatorSession second;

        World(String policy) throws OrtException {
            // For the context that streams need.
            final var retained = provider.createAllocator(info, AllocatorOptions.EMPTY);
            for (int i = 0; i < STREAMS; i++) {
                handles[i] = driver.streams().streamCreate(0);
                streams[i] = SessionFaultsTest.ortStream(handles[i]);
            }
            memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                    .gpu(GpuMemory.of(provider)
                            .withOption("arena.policy", policy)
                            .withOption("arena.max_mem", String.valueOf(64 * MIB)))
                    .install();
            first = open();
            second = open();
            provider.releaseAllocator(retained);
        }

        private AllocatorSession open() throws OrtException {
            try (SessionOptions options = new SessionOptions()) {
                return memory.openSession(IdentityModel.bytes(), "identity", options, SessionSettings.DEFAULT);
            }
        }

        /** What ONNX Runtime does for two runs of each session, as far as the driver lets it. */
        void use() {
            for (int round = 0; round < 2; round++) {
                for (final AllocatorSession session : List.of(first, second)) {
                    final ExportedAllocator device = session.gpu(0).exported();
                    final ExportedAllocator pinned =
                            session.memories().getLast().exported();
                    session.begin();
                    allocate(device, 3 * MIB, streams[0]);
                    allocate(device, MIB, streams[1]);
                    allocate(pinned, 4096, streams[0]);
                    allocate(device, 5 * MIB, 0);
                    frees.forEach(Runnable::run);
                    frees.clear();
                    allocate(device, 2 * MIB, streams[0]);
                    session.end();
                }
                attempt(memory::shrink);
                frees.forEach(Runnable::run);
                frees.clear();
            }
        }

        private void allocate(ExportedAllocator exported, long byteSize, long stream) {
            final long block = stream == 0 ? exported.reserve(byteSize) : exported.allocOnStream(byteSize, stream);
            if (block != 0) {
                frees.add(() -> exported.free(block));
            }
        }

        private static void attempt(Runnable step) {
            try {
                step.run();
            } catch (RuntimeException e) {
                assertThat(e).isInstanceOf(AllocatorException.class);
            }
        }

        /** Closes the sessions while the driver may fail, and the rest once it works. */
        void close() throws OrtException {
            for (final AllocatorSession session : List.of(first, second)) {
                try {
                    session.close();
                } catch (DeviceException e) {
                    assertTrue(!session.isOpen());
                }
            }
            driver.controls().clearFailures();
            for (final InstalledMemory installed : memory.memories()) {
                assertEquals(0, installed.bytesInUse(), () -> installed.info().toString());
            }
            memory.close();
            for (final long handle : handles) {
                driver.streams().streamDestroy(0, handle);
            }
            provider.close();
            assertThat(driver.controls().leaks()).isEmpty();
            driver.close();
        }

        /** Runs on as if nothing had failed, and gives all back. */
        void useSoundly() {
            for (final AllocatorSession session : List.of(first, second)) {
                final ExportedAllocator device = session.gpu(0).exported();
                session.begin();
                final long block = device.allocOnStream(7 * MIB, streams[0]);
                assertNotEquals(0, block, () -> String.valueOf(session.lastFailure()));
                device.free(block);
                session.end();
                assertEquals(0, session.liveBlocks());
            }
            memory.shrink();
            final AllocatorStats stats = memory.gpu(0).stats();
            assertEquals(0, stats.bytesInUse(), stats::toString);
            assertEquals(0, memory.shrink().bytesReleased(), "a second shrink");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "best-fit, false, " + CudaResult.OUT_OF_MEMORY,
        "best-fit, true, " + CudaResult.OUT_OF_MEMORY,
        "best-fit, false, " + CudaResult.INVALID_VALUE,
        "best-fit, true, " + CudaResult.INVALID_VALUE,
        "compact, false, " + CudaResult.INVALID_VALUE,
        "compact, true, " + CudaResult.OUT_OF_MEMORY
    })
    void nothingIsLostWhicheverCallFails(String policy, boolean isAtTheClose, int result) throws OrtException {
        for (long number = 1L + result % Share.step(); ; number += Share.step()) {
            final World world = new World(policy);
            final long before = world.driver.controls().calls();
            if (!isAtTheClose) {
                world.driver.controls().failOnCall(number, result);
            }
            world.use();
            if (isAtTheClose) {
                world.driver.controls().failOnCall(number, result);
            } else {
                world.driver.controls().clearFailures();
                world.useSoundly();
            }
            final long calls = world.driver.controls().calls();
            world.close();
            if (number > (isAtTheClose ? 40 : calls - before)) {
                return;
            }
        }
    }
}
