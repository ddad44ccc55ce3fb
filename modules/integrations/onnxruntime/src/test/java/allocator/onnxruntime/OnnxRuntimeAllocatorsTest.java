package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OnnxRuntimeAllocatorsTest {
    private static final String MODEL = "tiny_bert.onnx";

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final HeapAllocator heap = new HeapAllocator();

    private OnnxRuntimeAllocators install(Allocator allocator) {
        return OnnxRuntimeAllocators.on(environment).allocator(allocator).install();
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, SessionSettings settings) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return memory.openSession(Models.TINY_BERT, MODEL, options, settings);
        }
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory) throws OrtException {
        return open(memory, SessionSettings.DEFAULT);
    }

    private OrtSession openPlain(boolean useEnvironmentAllocators) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            options.addConfigEntry(SessionConfig.USE_ENV_ALLOCATORS, useEnvironmentAllocators ? "1" : "0");
            return environment.createSession(Models.TINY_BERT, options);
        }
    }

    // What it is for.

    @Test
    void sessionsOfTheEnvironmentUseTheAllocatorIfTheyAskForIt() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap)) {
            try (OrtSession without = openPlain(false)) {
                assertNotNull(Models.run(without::run, 1, 8, 1));
                assertEquals(0, heap.stats().numAllocs());
            }
            try (OrtSession with = openPlain(true)) {
                assertNotNull(Models.run(with::run, 1, 8, 1));
                assertTrue(heap.stats().numAllocs() > 10);
                assertTrue(memory.bytesInUse() > 1_000_000);
            }
            assertEquals(0, memory.bytesInUse());
        }
    }

    @Test
    void afterTheInstallationEverythingIsAsBefore() throws OrtException {
        install(heap).close();

        try (OrtSession session = openPlain(true)) {
            assertNotNull(Models.run(session::run, 1, 8, 1));
        }
        assertEquals(0, heap.stats().numAllocs());
    }

    @Test
    void anArenaOfOnnxRuntimesCanBeTheAllocator() throws OrtException {
        try (OnnxRuntimeFactory provider = new OnnxRuntimeFactory();
                OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider(provider)
                        .option("arena.initial_chunk_size_bytes", "4194304")
                        .install();
                AllocatorSession session = open(memory)) {
            assertNotNull(Models.run(session::run, 1, 8, 1));
            assertTrue(memory.stats().numArenaExtensions() > 0);
            assertTrue(memory.stats().bytesHeld() >= 4194304);
            assertEquals(0, memory.shrink().bytesReleased());
        }
    }

    @Test
    void aWarmUpLeavesNothing() {
        try (OnnxRuntimeAllocators memory = install(heap)) {
            memory.warmUp();
            assertEquals(0, memory.bytesInUse());
            assertTrue(heap.stats().numAllocs() > 1000);
        }
        assertEquals(0, heap.liveBlocks());
    }

    // Limits.

    @Test
    void aBudgetRefusesWithOurExceptionAsTheCauseAndTheSessionWorksOn() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap);
                AllocatorSession session = open(memory, SessionSettings.DEFAULT.withName("tiny"))) {
            final int[] expected = Models.run(session::run, 1, 8, 1);
            final long budget = session.stats().bytesInUse() + 400_000;
            session.setBudget(budget);

            final OrtException failure = assertThrows(OrtException.class, () -> Models.run(session::run, 4, 128, 1));

            final OutOfMemoryException cause = assertInstanceOf(OutOfMemoryException.class, failure.getCause());
            assertEquals(budget, cause.shortage().limit());
            assertTrue(String.valueOf(cause.getMessage()).contains("tiny"), cause::toString);
            assertTrue(String.valueOf(failure.getMessage()).contains("the allocator of tiny refused memory"));
            assertArrayEquals(expected, Models.run(session::run, 1, 8, 1));
            assertTrue(session.stats().peakBytesInUse() <= budget);
            assertEquals(1, session.stats().numFailedAllocs());
        }
        assertEquals(0, heap.liveBlocks());
    }

    /** An arena over memory that counts for itself, to the byte. */
    private static Allocator arenaOver(Allocator upstream, long limit) {
        final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.max_mem", Long.toString(limit)));
        return new StreamArenaAllocator(new BfcArena(upstream, ArenaConfig.from(options)), options);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCapOf64MiBIsNotPassedByOneByte(boolean isArena) throws OrtException {
        final long cap = 64L << 20;
        final Allocator capped = isArena ? arenaOver(heap, cap) : heap;
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .allocator(capped)
                        .budget(isArena ? AllocatorStats.UNLIMITED : cap)
                        .install();
                AllocatorSession session = open(memory)) {
            int refused = 0;
            for (int sentences = 1; sentences <= 61; sentences += 5) {
                final int[] expected = Models.run(session::run, 1, 16, 1);
                try {
                    Models.run(session::run, sentences, 256, 1);
                } catch (OrtException e) {
                    assertInstanceOf(OutOfMemoryException.class, e.getCause());
                    refused++;
                }
                assertArrayEquals(expected, Models.run(session::run, 1, 16, 1));
                assertTrue(heap.stats().peakBytesHeld() <= cap, () -> "taken " + heap.stats());
                assertTrue(session.stats().peakBytesInUse() <= cap, () -> "had " + session.stats());
            }
            assertTrue(refused > 5, "refused " + refused);
            assertTrue(heap.stats().peakBytesHeld() > cap / 2, () -> "taken " + heap.stats());
        }
    }

    @Test
    void everyAllocationOfARunMayBeTheOneThatIsRefused() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap);
                AllocatorSession session = open(memory)) {
            final int[] expected = Models.run(session::run, 2, 16, 1);
            final long weights = session.stats().bytesInUse();
            final long peak = session.stats().peakBytesInUse();
            int refused = 0;
            for (long budget = weights; budget < peak; budget += 4096) {
                session.setBudget(budget);
                try {
                    Models.run(session::run, 2, 16, 1);
                } catch (OrtException e) {
                    assertInstanceOf(OutOfMemoryException.class, e.getCause());
                    refused++;
                }
                assertTrue(session.stats().bytesInUse() <= budget);
            }
            assertTrue(refused > 10, "refused " + refused);
            session.setBudget(AllocatorStats.UNLIMITED);
            assertArrayEquals(expected, Models.run(session::run, 2, 16, 1));
            assertEquals(weights, session.stats().bytesInUse());
        }
    }

    @Test
    void aLoadThatIsRefusedLeavesNothing() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap)) {
            final OrtException failure =
                    assertThrows(OrtException.class, () -> open(memory, SessionSettings.DEFAULT.withBudget(1_000_000)));

            assertInstanceOf(OutOfMemoryException.class, failure.getCause());
            assertEquals(0, memory.bytesInUse());
            try (AllocatorSession session = open(memory)) {
                assertTrue(
                        session.stats().numReserves() > 0, () -> session.stats().toString());
                assertNotNull(Models.run(session::run, 1, 8, 1));
            }
        }
    }

    @Test
    void budgetsOfSessionsAreTheirOwnWithinTheSharedOne() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap);
                AllocatorSession poor = open(memory, SessionSettings.DEFAULT.withName("poor"));
                AllocatorSession rich = open(memory, SessionSettings.DEFAULT.withName("rich"))) {
            poor.setBudget(poor.stats().bytesInUse());
            assertThrows(OrtException.class, () -> Models.run(poor::run, 1, 64, 1));
            assertNotNull(Models.run(rich::run, 1, 64, 1));

            memory.setBudget(memory.bytesInUse());
            poor.setBudget(AllocatorStats.UNLIMITED);
            final OrtException failure = assertThrows(OrtException.class, () -> Models.run(rich::run, 1, 64, 1));
            assertTrue(String.valueOf(failure.getCause()).contains("the budget that all sessions share"));
            memory.setBudget(AllocatorStats.UNLIMITED);
            assertNotNull(Models.run(poor::run, 1, 64, 1));
        }
    }

    @Test
    void aRefusalNamesSessionAndModelAndWhatLived() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap)) {
            try (OrtSession plain = openPlain(true);
                    AllocatorSession session = open(memory, SessionSettings.DEFAULT.withName("tiny"))) {
                session.setBudget(session.stats().bytesInUse());
                assertThrows(OrtException.class, () -> Models.run(session.session()::run, 1, 8, 1));
                final AllocationFailure failure = session.takeFailure().orElseThrow();
                assertEquals("tiny", failure.session());
                assertEquals(MODEL, failure.model());
                assertEquals(Thread.currentThread().getName(), failure.thread());
                assertTrue(failure.byteSize() > 0);
                assertTrue(failure.outOfMemory().isPresent());
                assertTrue(failure.dump().startsWith("session tiny, model " + MODEL), failure::dump);
                assertTrue(failure.dump().contains("largest sizes:"), failure::dump);
                assertTrue(session.takeFailure().isEmpty());
                assertSame(failure, session.lastFailure().orElseThrow());
                assertThrows(OrtException.class, () -> Models.run(session::run, 1, 8, 1));
                assertTrue(session.takeFailure().isEmpty());
                assertTrue(session.lastFailure().orElseThrow().dump().contains("model " + MODEL));

                heap.setLimit(heap.stats().bytesInUse());
                final OrtException thrown = assertThrows(OrtException.class, () -> Models.run(plain::run, 1, 8, 1));
                assertNull(thrown.getCause());
                assertSame(thrown, memory.explained(thrown));
                assertInstanceOf(OutOfMemoryException.class, thrown.getCause());
            }
        }
    }

    // Threads.

    @Test
    void severalSessionsRunOnSeveralThreads() throws Exception {
        try (OnnxRuntimeAllocators memory = install(heap);
                OrtSession theirs = openPlain(false);
                AllocatorSession first = open(memory);
                AllocatorSession second = open(memory);
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
    void threadsThatJavaNeverSawAllocateAndFree() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap);
                SessionOptions options = new SessionOptions()) {
            options.setExecutionMode(SessionOptions.ExecutionMode.PARALLEL);
            options.setInterOpNumThreads(2);
            options.setMemoryPatternOptimization(false);
            try (OrtSession theirs = openPlain(false);
                    AllocatorSession session =
                            memory.openSession(Models.TINY_BERT, MODEL, options, SessionSettings.DEFAULT)) {
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

    // Lifetimes.

    @Test
    void aSecondInstallationIsRefused() {
        try (OnnxRuntimeAllocators memory = install(heap)) {
            final IllegalStateException refusal =
                    assertThrows(IllegalStateException.class, () -> install(new HeapAllocator()));
            assertTrue(String.valueOf(refusal.getMessage()).contains("installed"));
            assertEquals(0, memory.bytesInUse());
        }
        install(heap).close();
    }

    @Test
    void cannotBeUninstalledWhileSessionsAreOpen() throws OrtException {
        final OnnxRuntimeAllocators memory = install(heap);
        final AllocatorSession session = open(memory, SessionSettings.DEFAULT.withName("tiny"));

        final IllegalStateException refusal = assertThrows(IllegalStateException.class, memory::close);
        assertEquals("the session tiny is open; close it first", refusal.getMessage());
        assertNotNull(Models.run(session::run, 1, 8, 1));

        // The session may be closed without us.
        session.session().close();
        session.close();
        memory.close();
        memory.close();
        assertEquals(0, heap.liveBlocks());
    }

    @Test
    void cannotBeUninstalledWhileResultsLive() throws OrtException {
        final OnnxRuntimeAllocators memory = install(heap);
        final AllocatorSession session = open(memory, SessionSettings.DEFAULT.withName("tiny"));
        final Map<String, OnnxTensor> inputs = Models.inputs(1, 8, 1);
        final OrtSession.Result result = session.run(inputs);
        inputs.values().forEach(OnnxTensor::close);
        session.close();

        final IllegalStateException refusal = assertThrows(IllegalStateException.class, memory::close);
        assertTrue(String.valueOf(refusal.getMessage()).contains("of tiny; close its results and tensors"));
        assertTrue(session.liveBlocks() > 0);
        assertTrue(((OnnxTensor) result.get(0)).getFloatBuffer().remaining() > 0);
        result.close();
        memory.close();
        assertEquals(0, heap.liveBlocks());
    }

    @Test
    void cannotBeUninstalledWhileASessionOfTheEnvironmentHasMemory() throws OrtException {
        final OnnxRuntimeAllocators memory = install(heap);
        try (OrtSession plain = openPlain(true)) {
            assertThrows(IllegalStateException.class, memory::close);
            assertNotNull(Models.run(plain::run, 1, 8, 1));
        }
        memory.close();
    }

    @Test
    void whoeverStillHasTheAllocatorAfterwardsIsRefusedMemory() throws OrtException {
        final OnnxRuntimeAllocators memory = install(heap);
        try (SessionOptions options = new SessionOptions()) {
            options.addConfigEntry(SessionConfig.USE_ENV_ALLOCATORS, "1");
            // A model without weights: the session has the allocator and no memory of it.
            try (OrtSession stale = environment.createSession(IdentityModel.bytes(), options);
                    OnnxTensor input = OnnxTensor.createTensor(environment, new float[] {3})) {
                stale.run(Map.of("x", input)).close();
                memory.close();
                final OrtException refusal = assertThrows(
                        OrtException.class, () -> stale.run(Map.of("x", input)).close());
                assertTrue(String.valueOf(refusal.getMessage()).contains("refused memory"), refusal::toString);
            }
        }
        assertEquals(0, heap.liveBlocks());
    }

    @Test
    void theEnvironmentMayBeClosedFirst() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(heap);
                AllocatorSession session = open(memory)) {
            environment.close();
            assertNotNull(Models.run(session::run, 1, 8, 1));
        }
        assertEquals(0, heap.liveBlocks());
    }

    // Bad input.

    /** Throws from every method that native code calls. */
    private static final class Broken implements Allocator {
        @Override
        public long alloc(long byteSize) {
            if (byteSize % 2 == 0) {
                throw new StackOverflowError("broken on purpose");
            }
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public void free(long address) {
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public MemoryInfo info() {
            return NativeEnvironment.CPU;
        }

        @Override
        public int spiLevel() {
            throw new IllegalStateException("broken on purpose");
        }

        @Override
        public AllocatorStats stats() {
            throw new IllegalStateException("broken on purpose");
        }
    }

    @Test
    void anAllocatorThatThrowsEverywhereHarmsNobody() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(new Broken())) {
            final OrtException failure = assertThrows(OrtException.class, () -> open(memory));
            assertTrue(String.valueOf(failure.getCause()).contains("broken on purpose"), failure::toString);
            assertThrows(IllegalStateException.class, memory::shrink);
            assertThrows(IllegalStateException.class, memory::stats);
            try (OrtSession other = openPlain(false)) {
                assertNotNull(Models.run(other::run, 1, 8, 1));
            }
        }
    }

    @Test
    void anAllocatorWhoseFreeThrowsLosesItsBlocksAndNoMore() throws OrtException {
        final List<Long> lost = new ArrayList<>();
        final HeapAllocator forgetful = new HeapAllocator() {
            @Override
            public void free(long address) {
                synchronized (lost) {
                    lost.add(address);
                }
                throw new IllegalStateException("broken on purpose");
            }
        };
        try (OnnxRuntimeAllocators memory = install(forgetful);
                AllocatorSession session = open(memory)) {
            assertNotNull(Models.run(session::run, 1, 8, 1));
        }
        assertFalse(lost.isEmpty());
        assertEquals(forgetful.liveBlocks(), lost.size());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 8, 32, -1})
    void anAddressThatCannotBeUsedIsARefusal(long offset) throws OrtException {
        final HeapAllocator wrong = new HeapAllocator() {
            @Override
            public long alloc(long byteSize) {
                return offset == 0 ? 0 : super.alloc(byteSize + 64) + offset;
            }

            @Override
            public void free(long address) {
                super.free(address - offset);
            }
        };
        try (OnnxRuntimeAllocators memory = install(wrong)) {
            final OrtException failure = assertThrows(OrtException.class, () -> open(memory));
            assertTrue(
                    String.valueOf(failure.getCause()).contains("a block begins at a multiple of 64"),
                    failure::toString);
            assertEquals(0, memory.bytesInUse());
        }
        assertEquals(0, wrong.liveBlocks());
    }

    @Test
    void anAllocatorOfALowLevelIsAskedForNothingThatItDoesNotKnow() throws OrtException {
        final HeapAllocator old = new HeapAllocator() {
            @Override
            public int spiLevel() {
                return SpiLevel.MINIMUM;
            }

            @Override
            public long reserve(long byteSize) {
                throw new IllegalStateException("no reserve below its level");
            }

            @Override
            public AllocatorStats stats() {
                throw new IllegalStateException("no statistics below their level");
            }
        };
        try (OnnxRuntimeAllocators memory = install(old)) {
            try (AllocatorSession session = open(memory)) {
                assertNotNull(Models.run(session::run, 1, 8, 1));
                session.setBudget(session.stats().bytesInUse());
                assertThrows(OrtException.class, () -> Models.run(session.session()::run, 1, 8, 1));
                assertTrue(session.takeFailure().orElseThrow().outOfMemory().isPresent());
            }
            assertEquals(AllocatorStats.NONE, memory.stats());
            assertEquals(0, memory.shrink().bytesReleased());
        }
        assertEquals(0, old.liveBlocks());
    }

    @Test
    void memoryThatIsNotAlignedEnoughIsRefused() {
        final HeapAllocator coarse = new HeapAllocator() {
            @Override
            public MemoryInfo info() {
                return new MemoryInfo("Cpu", NativeEnvironment.CPU.location(), 32, AllocatorType.DEVICE);
            }
        };
        final IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class, () -> install(coarse));
        assertTrue(String.valueOf(refusal.getMessage()).contains("needs 64"), refusal::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nobody", "", "OnnxRuntime"})
    void anUnknownProviderIsRefusedWithTheKnownOnes(String name) {
        final IllegalArgumentException refusal = assertThrows(
                IllegalArgumentException.class,
                () -> OnnxRuntimeAllocators.on(environment).provider(name).install());
        assertTrue(String.valueOf(refusal.getMessage()).contains("onnxruntime"), refusal::toString);
    }

    @Test
    void wrongOptionsAreRefusedAndNothingIsInstalled() {
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
        install(heap).close();
    }
}
