package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.support.IdentityModel;
import allocator.spi.AllocatorType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Installs allocators, opens sessions on them, uninstalls them. */
class OnnxRuntimeAllocatorsTest {
    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final HeapAllocator heap = new HeapAllocator();

    @Nested
    class Installing {
        @Test
        void aSecondInstallationIsRejected() {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                final IllegalStateException failure =
                        assertThrows(IllegalStateException.class, () -> Sessions.install(new HeapAllocator()));
                assertTrue(String.valueOf(failure.getMessage()).contains("installed"));
                assertEquals(0, memory.bytesInUse());
            }
            Sessions.install(heap).close();
        }

        @Test
        void insufficientAlignmentIsRejected() {
            final HeapAllocator coarse = new HeapAllocator() {
                @Override
                public MemoryInfo info() {
                    return new MemoryInfo("Cpu", NativeEnvironment.CPU.location(), 32, AllocatorType.DEVICE);
                }
            };
            final IllegalArgumentException failure =
                    assertThrows(IllegalArgumentException.class, () -> Sessions.install(coarse));
            assertTrue(String.valueOf(failure.getMessage()).contains("needs 64"), failure::toString);
        }

        @ParameterizedTest
        @ValueSource(strings = {"unknown", "", "OnnxRuntime"})
        void anUnknownProviderIsRejectedWithTheKnownOnes(String name) {
            final IllegalArgumentException failure = assertThrows(
                    IllegalArgumentException.class,
                    () -> OnnxRuntimeAllocators.on(environment).provider(name).install());
            assertTrue(String.valueOf(failure.getMessage()).contains("onnxruntime"), failure::toString);
        }

        @Test
        void wrongOptionsAreRejectedAndNothingIsInstalled() {
            assertThrows(
                    InvalidOptionException.class,
                    () -> OnnxRuntimeAllocators.on(environment)
                            .provider("onnxruntime")
                            .option("arena.max_mem", "much")
                            .install());
            assertThrows(
                    IllegalArgumentException.class,
                    () -> OnnxRuntimeAllocators.on(environment)
                            .allocator(heap)
                            .option("arena.max_mem", "1")
                            .install());
            assertThrows(
                    IllegalArgumentException.class,
                    () -> OnnxRuntimeAllocators.on(environment).install());
            Sessions.install(heap).close();
        }
    }

    @Nested
    class Use {
        @Test
        void aRecordingCountsTheBlocksOfASessionAfterOnnxRuntimeHasFreedThem(@TempDir Path folder) throws Exception {
            final Path file = folder.resolve("sessions.jfr");
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    Recording recording = new Recording()) {
                recording.enable("allocator.SessionClose");
                recording.start();
                final AllocatorSession session = Sessions.open(memory);
                assertTrue(session.liveBlocks() > 0);
                session.close();
                recording.stop();
                recording.dump(file);
            }
            assertEquals(
                    List.of(0L),
                    RecordingFile.readAllEvents(file).stream()
                            .filter(event -> event.getEventType().getName().equals("allocator.SessionClose"))
                            .map(event -> event.getLong("liveBlocks"))
                            .toList());
        }

        @Test
        void sessionsOfTheEnvironmentUseTheAllocatorIfTheyRequestIt() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                try (OrtSession without = Sessions.openPlain(false)) {
                    assertNotNull(Models.run(without::run, 1, 8, 1));
                    assertEquals(0, heap.stats().numAllocs());
                }
                try (OrtSession with = Sessions.openPlain(true)) {
                    assertNotNull(Models.run(with::run, 1, 8, 1));
                    assertTrue(heap.stats().numAllocs() > 10);
                    assertTrue(memory.bytesInUse() > 1_000_000);
                }
                assertEquals(0, memory.bytesInUse());
            }
        }

        @Test
        void anArenaOfOnnxRuntimesCanBeTheAllocator() throws OrtException {
            try (OnnxRuntimeFactory provider = new OnnxRuntimeFactory();
                    OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                            .provider(provider)
                            .option("arena.initial_chunk_size_bytes", "4194304")
                            .install();
                    AllocatorSession session = Sessions.open(memory)) {
                assertNotNull(Models.run(session::run, 1, 8, 1));
                assertTrue(memory.stats().numArenaExtensions() > 0);
                assertTrue(memory.stats().bytesHeld() >= 4194304);
                assertEquals(0, memory.shrink().bytesReleased());
            }
        }

        @Test
        void aWarmUpLeavesNothing() {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap)) {
                memory.warmUp();
                assertEquals(0, memory.bytesInUse());
                assertTrue(heap.stats().numAllocs() > 1000);
            }
            assertEquals(0, heap.liveBlocks());
        }

        @Test
        void aCloseBesideAWarmUpIsRejected() {
            final List<Throwable> rejections = new ArrayList<>();
            final OnnxRuntimeAllocators[] installed = new OnnxRuntimeAllocators[1];
            final HeapAllocator closing = new HeapAllocator() {
                @Override
                public long alloc(long byteSize) {
                    if (rejections.isEmpty()) {
                        rejections.add(assertThrows(IllegalStateException.class, installed[0]::close));
                    }
                    return super.alloc(byteSize);
                }
            };
            installed[0] = Sessions.install(closing);
            installed[0].warmUp();
            assertEquals(1, rejections.size());
            installed[0].close();
            assertThrows(IllegalStateException.class, installed[0]::warmUp);
            assertEquals(0, closing.liveBlocks());
        }

        @Test
        void areUnaffectedAfterTheInstallation() throws OrtException {
            Sessions.install(heap).close();

            try (OrtSession session = Sessions.openPlain(true)) {
                assertNotNull(Models.run(session::run, 1, 8, 1));
            }
            assertEquals(0, heap.stats().numAllocs());
        }

        @Test
        void theEnvironmentMayBeClosedFirst() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    AllocatorSession session = Sessions.open(memory)) {
                environment.close();
                assertNotNull(Models.run(session::run, 1, 8, 1));
            }
            assertEquals(0, heap.liveBlocks());
        }
    }

    @Nested
    class Closing {
        @Test
        void failsWhileSessionsAreOpen() throws OrtException {
            final OnnxRuntimeAllocators memory = Sessions.install(heap);
            final AllocatorSession session = Sessions.open(memory, SessionSettings.DEFAULT.withName("tiny"));

            final IllegalStateException failure = assertThrows(IllegalStateException.class, memory::close);
            assertEquals("the session tiny is open; close it first", failure.getMessage());
            assertNotNull(Models.run(session::run, 1, 8, 1));

            // The caller may close the session of ONNX Runtime itself.
            session.session().close();
            session.close();
            memory.close();
            memory.close();
            assertEquals(0, heap.liveBlocks());
        }

        @Test
        void failsWhileResultsLive() throws OrtException {
            final OnnxRuntimeAllocators memory = Sessions.install(heap);
            final AllocatorSession session = Sessions.open(memory, SessionSettings.DEFAULT.withName("tiny"));
            final Map<String, OnnxTensor> inputs = Models.inputs(1, 8, 1);
            final OrtSession.Result result = session.run(inputs);
            inputs.values().forEach(OnnxTensor::close);
            session.close();

            final IllegalStateException failure = assertThrows(IllegalStateException.class, memory::close);
            assertTrue(String.valueOf(failure.getMessage()).contains("of tiny; close its results and tensors"));
            assertTrue(session.liveBlocks() > 0);
            assertTrue(((OnnxTensor) result.get(0)).getFloatBuffer().remaining() > 0);
            result.close();
            memory.close();
            assertEquals(0, heap.liveBlocks());
        }

        @Test
        void failsWhileASessionOfTheEnvironmentHasMemory() throws OrtException {
            final OnnxRuntimeAllocators memory = Sessions.install(heap);
            try (OrtSession plain = Sessions.openPlain(true)) {
                assertThrows(IllegalStateException.class, memory::close);
                assertNotNull(Models.run(plain::run, 1, 8, 1));
            }
            memory.close();
        }

        @Test
        void aSessionThatStillHasTheAllocatorCannotAllocate() throws OrtException {
            final OnnxRuntimeAllocators memory = Sessions.install(heap);
            try (SessionOptions options = new SessionOptions()) {
                options.addConfigEntry(NativeEnvironment.USE_ENV_ALLOCATORS, "1");
                // A model without weights: the session has the allocator and no memory of it.
                try (OrtSession stale = environment.createSession(IdentityModel.bytes(), options);
                        OnnxTensor input = OnnxTensor.createTensor(environment, new float[] {3})) {
                    stale.run(Map.of("x", input)).close();
                    memory.close();
                    final OrtException failure = assertThrows(
                            OrtException.class,
                            () -> stale.run(Map.of("x", input)).close());
                    assertTrue(String.valueOf(failure.getMessage()).contains("cannot allocate"), failure::toString);
                }
            }
            assertEquals(0, heap.liveBlocks());
        }
    }

    @Nested
    class Threads {
        @Test
        void severalSessionsRunOnSeveralThreads() throws Exception {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    OrtSession theirs = Sessions.openPlain(false);
                    AllocatorSession first = Sessions.open(memory);
                    AllocatorSession second = Sessions.open(memory);
                    ExecutorService executor = Executors.newFixedThreadPool(4)) {
                final List<Future<?>> runs = new ArrayList<>();
                for (int i = 0; i < 100; i++) {
                    final int seed = i;
                    final AllocatorSession session = i % 2 == 0 ? first : second;
                    final int[] expected = Models.run(theirs::run, 1, 1 + i % 40, seed);
                    final Callable<Object> run = () -> {
                        assertArrayEquals(expected, Models.run(session::run, 1, 1 + seed % 40, seed));
                        return seed;
                    };
                    runs.add(executor.submit(run));
                }
                for (final Future<?> run : runs) {
                    run.get();
                }
                assertEquals(first.stats().bytesInUse() + second.stats().bytesInUse(), memory.bytesInUse());
            }
            assertEquals(0, heap.liveBlocks());
        }

        @Test
        void nativeThreadsAllocateAndFree() throws OrtException {
            try (OnnxRuntimeAllocators memory = Sessions.install(heap);
                    SessionOptions options = new SessionOptions()) {
                options.setExecutionMode(SessionOptions.ExecutionMode.PARALLEL);
                options.setInterOpNumThreads(2);
                options.setMemoryPatternOptimization(false);
                try (OrtSession theirs = Sessions.openPlain(false);
                        AllocatorSession session = memory.openSession(
                                Models.TINY_BERT, Sessions.MODEL, options, SessionSettings.DEFAULT)) {
                    heap.allocatingThreads().clear();
                    heap.freeingThreads().clear();
                    for (int i = 0; i < 50; i++) {
                        final int[] expected = Models.run(theirs::run, 2, 32, i);
                        assertEquals(expected.length, Models.run(session::run, 2, 32, i).length);
                    }
                    assertTrue(anotherIsAmong(heap.allocatingThreads()), () -> "threads " + heap.allocatingThreads());
                    assertTrue(anotherIsAmong(heap.freeingThreads()), () -> "threads " + heap.freeingThreads());
                }
            }
            assertEquals(0, heap.liveBlocks());
        }

        private static boolean anotherIsAmong(Set<Thread> threads) {
            return threads.stream().anyMatch(thread -> !thread.equals(Thread.currentThread()));
        }
    }
}
