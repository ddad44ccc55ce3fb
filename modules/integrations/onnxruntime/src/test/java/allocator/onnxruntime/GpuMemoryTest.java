package allocator.onnxruntime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.OrtAllocatorLayout;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** GPU memory of sessions, on a simulated device. {@link CudaSessionTest} runs models on a real one. */
class GpuMemoryTest {
    private static final long MIB = 1 << 20;

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final SimulatedCudaDriver driver =
            SimulatedCudaDriver.builder().withDevices(2).withLaggingStreams().build();
    private final EpFactory provider = driver.provider("cuda-arena");

    @AfterEach
    void closeTheDevice() {
        provider.close();
        driver.close();
    }

    @Nested
    class Settings {
        /** Each of them is the last one once, so that none forgets what the others have set. */
        @Test
        void noSettingReplacesAnother() {
            final List<UnaryOperator<GpuMemory>> all = List.of(
                    memory -> memory.withOption("a", "1"),
                    memory -> memory.withOption("b", "2"),
                    memory -> memory.withPinnedOption("a", "3"),
                    memory -> memory.withPinnedOption("c", "4"),
                    memory -> memory.withBudget(5),
                    memory -> memory.withOrdinal(6));
            for (int first = 0; first < all.size(); first++) {
                GpuMemory memory = GpuMemory.of(provider);
                for (int i = 0; i < all.size(); i++) {
                    memory = all.get((first + i) % all.size()).apply(memory);
                }
                assertEquals(Map.of("a", "1", "b", "2"), memory.options());
                assertEquals(Map.of("a", "3", "c", "4"), memory.pinnedOptions());
                assertEquals(5, memory.budget());
                assertEquals(6, memory.ordinal());
                assertSame(provider, memory.provider().orElseThrow());
            }
            assertEquals(
                    "named", GpuMemory.of("named").withBudget(1).providerName().orElseThrow());
        }

        @Test
        void namesOfOnnxRuntimeAreAccepted() {
            final GpuMemory memory = GpuMemory.of(provider)
                    .withOption("ep.cuda.arena.max_mem", "1024")
                    .withPinnedOption("gpu_mem_limit", "2048");
            assertEquals(Map.of("arena.max_mem", "1024"), memory.options());
            assertEquals(Map.of("arena.max_mem", "2048"), memory.pinnedOptions());
        }

        /** ONNX Runtime would ignore them, as the session has no arena of its own. */
        @Test
        void settingsOfAnArenaAmongThoseOfASessionAreRejected() throws OrtException {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .gpu(GpuMemory.of(provider))
                            .install();
                    OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
                options.addConfigEntry("ep.cuda.arena.max_mem", "1024");
                final InvalidOptionException rejected = assertThrows(
                        InvalidOptionException.class,
                        () -> memory.openSession(Models.TINY_BERT, Sessions.MODEL, options, SessionSettings.DEFAULT));
                assertEquals("ep.cuda.arena.max_mem", rejected.key());
                assertEquals(0, memory.bytesInUse());
            }
        }

        @Test
        void eachReachesItsMemory() throws OrtException {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .gpu(GpuMemory.of(provider)
                                    .withOption("arena.max_mem", String.valueOf(64 * MIB))
                                    .withPinnedOption("arena.max_mem", String.valueOf(32 * MIB))
                                    .withBudget(2 * MIB)
                                    .withOrdinal(1))
                            .install();
                    AllocatorSession session = Sessions.open(memory)) {
                assertEquals(64 * MIB, memory.gpu(1).stats().limit());
                assertEquals(32 * MIB, memory.memories().getLast().stats().limit());
                final ExportedAllocator device = session.gpu(1).exported();
                final ExportedAllocator pinned = session.memories().getLast().exported();
                final long block = device.alloc(2 * MIB);
                final long free = pinned.alloc(3 * MIB);
                assertEquals(0, device.alloc(1));
                assertTrue(String.valueOf(session.takeFailure().orElseThrow().cause())
                        .contains("the budget that all sessions share is used up"));
                device.free(block);
                pinned.free(free);
            }
        }
    }

    @Nested
    class Installing {
        @Test
        void deviceAndPinnedMemoryAreInstalledBesideTheCpus() {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                    .provider("cpu-reference")
                    .gpu(GpuMemory.of(provider).withOption("arena.max_mem", String.valueOf(64 * MIB)))
                    .gpu(GpuMemory.of(provider).withOrdinal(1))
                    .install()) {
                assertEquals(
                        List.of(
                                "Cpu (cpu:0)",
                                "Cuda (gpu:0)",
                                "CudaPinned (gpu:0 host-accessible)",
                                "Cuda (gpu:1)",
                                "CudaPinned (gpu:1 host-accessible)"),
                        memory.memories().stream()
                                .map(InstalledMemory::info)
                                .map(MemoryInfo::toString)
                                .toList());
                assertEquals(64 * MIB, memory.gpu(0).stats().limit());
                assertEquals(AllocatorStats.UNLIMITED, memory.gpu(1).stats().limit());
                assertThrows(IllegalArgumentException.class, () -> memory.gpu(2));
            }
        }

        @Test
        void gpuMemoryAloneLeavesTheCpusToOnnxRuntime() throws OrtException {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .gpu(GpuMemory.of(provider))
                            .install();
                    AllocatorSession session = Sessions.open(memory);
                    OrtSession theirs = Sessions.openPlain(false)) {
                assertArrayEquals(Models.run(theirs::run, 1, 8, 1), Models.run(session::run, 1, 8, 1));
                assertEquals("Cuda (gpu:0)", session.gpu(0).info().toString());
                assertEquals(0, session.gpu(0).liveBlocks()); // this ONNX Runtime has no CUDA provider
                memory.warmUp();
                assertEquals(0, memory.bytesInUse());
                assertThrows(
                        IllegalStateException.class,
                        () -> OnnxRuntimeAllocators.on(environment)
                                .gpu(GpuMemory.of(provider))
                                .install());
            }
            OnnxRuntimeAllocators.on(environment)
                    .gpu(GpuMemory.of(provider))
                    .install()
                    .close();
        }

        @Test
        void whatCannotBeInstalledLeavesNothing() {
            final var builder = OnnxRuntimeAllocators.on(environment);
            final GpuMemory gpu = GpuMemory.of(provider);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> builder.gpu(gpu.withOrdinal(2)).install());
            assertThrows(IllegalArgumentException.class, () -> gpu.withOrdinal(-1));
            assertThrows(
                    InvalidOptionException.class,
                    () -> OnnxRuntimeAllocators.on(environment)
                            .provider("cpu-reference")
                            .gpu(gpu.withPinnedOption("arena.max_mem", "much"))
                            .install());
            final IllegalArgumentException misplaced = assertThrows(
                    IllegalArgumentException.class,
                    () -> OnnxRuntimeAllocators.on(environment)
                            .option("arena.max_mem", "1")
                            .gpu(gpu)
                            .install());
            assertTrue(String.valueOf(misplaced.getMessage()).contains("GpuMemory"), misplaced::toString);
            final IllegalArgumentException noGpu = assertThrows(
                    IllegalArgumentException.class,
                    () -> OnnxRuntimeAllocators.on(environment)
                            .gpu(GpuMemory.of("cpu-reference"))
                            .install());
            assertTrue(String.valueOf(noGpu.getMessage()).contains("no memory of gpu:0"), noGpu::toString);
            OnnxRuntimeAllocators.on(environment).gpu(gpu).install().close();
        }

        @Test
        void aDecoratorThatHidesTheStreamsIsRejected() throws OrtException {
            try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                    .gpu(GpuMemory.of(provider))
                    .install()) {
                final SessionSettings hiding = SessionSettings.DEFAULT.withDecorator(allocator -> new HeapAllocator());
                final IllegalArgumentException failure =
                        assertThrows(IllegalArgumentException.class, () -> Sessions.open(memory, hiding));
                assertTrue(String.valueOf(failure.getMessage()).contains("without streams"), failure::toString);
                Sessions.open(memory).close();
            }
        }
    }

    /** Tensors of the program in device memory. */
    @Nested
    class Tensors {
        private final OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                .gpu(GpuMemory.of(provider))
                .gpu(GpuMemory.of(provider).withOrdinal(1))
                .install();

        @AfterEach
        void uninstall() {
            memory.close();
        }

        private static MemorySegment array(float... values) {
            return MemorySegment.ofArray(values);
        }

        @Test
        void areCopiedBetweenAllMemories() {
            final List<InstalledMemory> memories =
                    List.of(memory.gpu(0), memory.pinned(0), memory.gpu(1), memory.pinned(1));
            for (final InstalledMemory from : memories) {
                for (final InstalledMemory to : memories) {
                    try (DeviceTensor one = from.tensor(ElementType.FLOAT, 4).copyFrom(array(1, 2, 3, 4));
                            DeviceTensor part = one.slice(1, 3);
                            DeviceTensor two = to.tensor(ElementType.FLOAT, 2).copyFrom(part);
                            Arena arena = Arena.ofConfined()) {
                        final MemorySegment read = arena.allocate(8);
                        two.copyTo(read);
                        assertArrayEquals(new float[] {2, 3}, read.toArray(JAVA_FLOAT));
                        final float[] onHeap = new float[2];
                        two.copyTo(array(onHeap));
                        assertArrayEquals(new float[] {2, 3}, onHeap);
                    }
                }
            }
            assertThrows(IllegalArgumentException.class, () -> memory.pinned(2));
        }

        @Test
        @SuppressWarnings("try")
        void areCopiedToMemoryThatCanBeWritten() {
            try (DeviceTensor tensor = memory.gpu(0).tensor(ElementType.UINT8, 8)) {
                final MemorySegment closed;
                try (Arena arena = Arena.ofConfined()) {
                    closed = arena.allocate(8);
                    assertThrows(IllegalArgumentException.class, () -> tensor.copyTo(closed.asReadOnly()));
                    tensor.copyFrom(closed.asReadOnly());
                }
                assertThrows(IllegalStateException.class, () -> tensor.copyTo(closed));
            }
        }

        /** Its operators would write to an address of the device. */
        @Test
        void areRejectedByASessionThatRunsOnTheProcessor() throws OrtException {
            try (OrtSession.SessionOptions options = new OrtSession.SessionOptions();
                    AllocatorSession session =
                            memory.openSession(SmallModels.chain(), "small", options, SessionSettings.DEFAULT);
                    DeviceTensor tensor = memory.gpu(0).tensor(ElementType.FLOAT, 11);
                    DeviceTensor pinned =
                            memory.pinned(0).tensor(ElementType.FLOAT, 1).copyFrom(array(3));
                    Binding binding = session.bind()) {
                for (final Executable call : List.<Executable>of(
                        () -> binding.input("x", tensor),
                        () -> binding.output(SmallModels.LAST, tensor),
                        () -> binding.output(SmallModels.LAST, memory.gpu(0)))) {
                    final IllegalArgumentException failure = assertThrows(IllegalArgumentException.class, call);
                    assertTrue(String.valueOf(failure.getMessage()).contains("CUDA provider?"), failure::toString);
                }
                try (DeviceTensor y = memory.pinned(0).tensor(ElementType.FLOAT, 11)) {
                    binding.input("x", pinned).output(SmallModels.LAST, y).run();
                    final float[] read = new float[11];
                    y.copyTo(array(read));
                    assertEquals(3, read[10]);
                }
            }
        }

        @Test
        void ofACapturedGraphAreTheReasonOfAShrink() throws OrtException {
            try (AllocatorSession session = Sessions.open(memory)) {
                final ExportedAllocator exported = session.gpu(0).exported();
                final GraphBlocks graph = new GraphBlocks(() -> true);
                exported.beginCapture(graph);
                exported.free(exported.alloc(MIB));
                exported.endCapture(graph);
                assertEquals(MIB, session.gpu(0).bytesCaptured());
                final String report = memory.gpu(0).shrink().toString();
                assertTrue(
                        report.contains("with live blocks, of which captured graphs use 1.0 MiB (1,048,576 bytes)"),
                        report);
                exported.release(graph);
                assertFalse(memory.shrink().toString().contains("captured"));
                assertEquals(0, memory.gpu(0).stats().bytesHeld());
            }
        }

        /** A lagging stream uses the memory after the call that submits the work. */
        @Test
        void waitForTheStreamsOfTheirLaunches() {
            try (SyncStream stream = memory.gpu(0).createStream()) {
                final DeviceTensor tensor = memory.gpu(0).tensor(ElementType.UINT8, 256);
                driver.memory().memsetD8Async(0, tensor.address(), (byte) 7, 256, stream.handle());
                tensor.usedOn(stream);
                final byte[] read = new byte[256];
                tensor.copyTo(MemorySegment.ofArray(read));
                assertEquals(7, read[255]);
                driver.memory().memsetD8Async(0, tensor.address(), (byte) 8, 256, stream.handle());
                tensor.usedOn(stream);
                tensor.close();
                assertEquals(0, memory.gpu(0).bytesInUse());
            }
        }
    }

    /** The allocator of device memory as ONNX Runtime calls it, on streams made here. */
    @Nested
    class Streams {
        private final MemoryInfo info =
                provider.discoverDevices().devices().getFirst().defaultMemory().orElseThrow();
        private final Allocator arena = provider.createAllocator(info, AllocatorOptions.EMPTY);
        private final SessionStreams streams = new SessionStreams(
                "the test", handle -> handle, new StreamViews(handle -> provider.viewSyncStream(info, handle)));
        private final SessionBudget budget = new SessionBudget(null, AllocatorStats.UNLIMITED);
        private final FailureLog failures = new FailureLog("the test", "no model", null);
        private final ExportedAllocator exported =
                new ExportedAllocator(arena, OrtMemory.of(info), streams, budget, null, null, failures);
        private final long first = driver.streams().streamCreate(0);
        private final long second = driver.streams().streamCreate(0);

        @AfterEach
        void release() {
            streams.close();
            exported.close();
            provider.releaseAllocator(arena);
            driver.streams().streamDestroy(0, first);
            driver.streams().streamDestroy(0, second);
        }

        @SuppressWarnings("restricted")
        private long allocOnStream(long byteSize, long stream) throws Throwable {
            final MemorySegment member = OrtApi.view(exported.struct(), OrtAllocatorLayout.BYTE_SIZE)
                    .get(ADDRESS, OrtAllocatorLayout.ALLOC_ON_STREAM);
            return (long) Linker.nativeLinker()
                    .downcallHandle(member, FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG))
                    .invokeExact(exported.struct(), byteSize, stream);
        }

        @Test
        void freedMemoryServesItsOwnStreamAtOnceAndOthersAfterTheRun() throws Throwable {
            streams.beginRun();
            final long block = allocOnStream(MIB, first);
            exported.free(block);
            assertEquals(block, allocOnStream(MIB, first));
            exported.free(block);
            assertNotEquals(block, allocOnStream(MIB, second));
            streams.endRun();
            assertEquals(block, allocOnStream(MIB, second));
            assertEquals(2 * MIB, exported.stats().bytesInUse());
            exported.free(block);
            exported.free(block + MIB);
            assertEquals(0, exported.liveBlocks());
        }

        @Test
        void freedMemoryServesOthersOnceTheSessionsStreamsAreClosed() throws Throwable {
            final long block = allocOnStream(MIB, first);
            exported.free(block);
            streams.close();
            assertEquals(block, exported.alloc(MIB));
            exported.free(block);
        }

        @Test
        void aStreamOfAnotherDeviceFailsWithItsCause() throws Throwable {
            final MemoryInfo other =
                    provider.discoverDevices().devices().get(1).defaultMemory().orElseThrow();
            final Allocator onOther = provider.createAllocator(other, AllocatorOptions.EMPTY);
            final long foreign = driver.streams().streamCreate(1);
            assertThrows(OrtFailure.class, () -> failing(foreign));
            assertInstanceOf(
                    IllegalArgumentException.class,
                    failures.take().orElseThrow().cause());
            assertEquals(0, budget.used());
            driver.streams().streamDestroy(1, foreign);
            provider.releaseAllocator(onOther);
        }

        /** Calls without the struct's thunk, whose C++ exception only C++ can catch. */
        private void failing(long stream) throws OrtFailure {
            if (exported.allocOnStream(MIB, stream) == 0) {
                throw new OrtFailure();
            }
        }

        @Test
        void budgetsHoldOnStreams() throws Throwable {
            budget.setLimit(MIB);
            final long block = allocOnStream(MIB, first);
            assertEquals(0, exported.allocOnStream(1, first));
            assertInstanceOf(
                    OutOfMemoryException.class, failures.take().orElseThrow().cause());
            exported.free(block);
        }

        /** Once ONNX Runtime has freed it, a captured block is in use until the graph goes; no other is. */
        @Test
        void whatACapturedGraphUsesStaysAllocated() throws Throwable {
            streams.beginRun();
            final GraphBlocks graph = new GraphBlocks(streams::isCapturing);
            exported.beginCapture(graph);
            exported.free(allocOnStream(MIB, first)); // a run before the capture
            exported.free(allocOnStream(2 * MIB, first));
            driver.streams().streamBeginCapture(0, first);
            final long used = allocOnStream(MIB, first);
            exported.free(used);
            assertEquals(used, allocOnStream(MIB, first));
            exported.free(used);
            final long small = allocOnStream(256, first);
            exported.free(small);
            driver.streams().graphDestroy(0, driver.streams().streamEndCapture(0, first));
            exported.endCapture(graph);
            streams.endRun();
            assertEquals(MIB + 256, exported.bytesCaptured());
            assertEquals(MIB + 256, exported.stats().bytesInUse());
            final long other = exported.alloc(MIB);
            assertNotEquals(used, other);
            exported.free(other);
            ((ShrinkableAllocator) arena).shrink();
            assertEquals(2, exported.liveBlocks());
            exported.release(graph);
            assertEquals(0, exported.liveBlocks());
            assertEquals(0, exported.bytesCaptured());
        }

        /** A block that ONNX Runtime has not freed when the graph goes is freed as any other. */
        @Test
        void aBlockThatOutlivesItsGraphIsFreedOnce() throws Throwable {
            final GraphBlocks graph = new GraphBlocks(() -> true);
            exported.beginCapture(graph);
            final long block = exported.alloc(MIB);
            exported.endCapture(graph);
            exported.release(graph);
            assertEquals(1, exported.liveBlocks());
            exported.free(block);
            assertEquals(0, budget.used());
        }

        @Test
        void theEmptyAllocationNeedsNoStream() throws Throwable {
            assertEquals(ThrowingThunk.EMPTY, allocOnStream(0, first));
            assertEquals(0, arena.stats().numAllocs());
        }
    }

    private static final class OrtFailure extends Exception {
        private static final long serialVersionUID = 1L;
    }
}
