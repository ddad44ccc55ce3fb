package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtProvider;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.examples.Examples;
import allocator.provider.support.budget.Budget;
import allocator.spi.Allocator;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.Gpu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Sessions of ONNX Runtime's CUDA provider on memory of this project, on a real GPU. Run where
 * {@code onnxruntime.native.path} names a library with that provider.
 */
class CudaSessionTest {
    private static final long MIB = 1 << 20;
    private static final int RUNS = Integer.getInteger("allocator.onnxruntime.cuda.runs", 1000);

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();

    @BeforeAll
    static void requireCuda() {
        if (!OrtEnvironment.getAvailableProviders().contains(OrtProvider.CUDA)) {
            throw Gpu.absent("this ONNX Runtime has no CUDA provider; onnxruntime.native.path names another one");
        }
    }

    private static SessionOptions cuda(int ordinal) throws OrtException {
        final SessionOptions options = new SessionOptions();
        options.addCUDA(ordinal);
        return options;
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, byte[] model, String name) throws OrtException {
        try (SessionOptions options = cuda(0)) {
            return memory.openSession(model, "deep", options, SessionSettings.DEFAULT.withName(name));
        }
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, String name) throws OrtException {
        return open(memory, name, 0);
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory, String name, int ordinal) throws OrtException {
        try (SessionOptions options = cuda(ordinal)) {
            return memory.openSession(
                    Models.TINY_BERT, Sessions.MODEL, options, SessionSettings.DEFAULT.withName(name));
        }
    }

    private OrtSession openPlain() throws OrtException {
        try (SessionOptions options = cuda(0)) {
            return environment.createSession(Models.TINY_BERT, options);
        }
    }

    private static GpuMemory paged(String sharing) {
        return GpuMemory.of("cuda-arena")
                .withOption("arena.paged_reserves", "1")
                .withOption(OnnxRuntimeAllocators.SHARE_WEIGHTS, sharing);
    }

    private OnnxRuntimeAllocators install(GpuMemory gpu) {
        return OnnxRuntimeAllocators.on(environment).gpu(gpu).install();
    }

    @ParameterizedTest
    @CsvSource({"cuda-arena, best-fit", "cuda-arena, slabs", "cuda-arena, compact", "cuda-mempool,"})
    void outputsAreIdenticalToTheBit(String provider, String policy) throws OrtException {
        GpuMemory gpu = GpuMemory.of(provider);
        if (policy != null) {
            gpu = gpu.withOption("arena.policy", policy);
        }
        try (OnnxRuntimeAllocators memory = install(gpu);
                AllocatorSession ours = open(memory, "ours");
                OrtSession theirs = openPlain()) {
            for (int run = 0; run < RUNS; run++) {
                final int sentences = 1 + run % 3;
                final int words = 8 + run * 7 % 120;
                assertArrayEquals(
                        Models.run(theirs::run, sentences, words, run), Models.run(ours::run, sentences, words, run));
            }
            assertTrue(ours.gpu(0).stats().numAllocs() > RUNS, "the session has not used the memory");
            assertTrue(ours.gpu(0).liveBlocks() > 0, "its weights are elsewhere");
        }
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void everyByteAtThePeakOfAGpuHasAName(boolean hasPatterns) throws OrtException {
        try (OnnxRuntimeAllocators memory = install(GpuMemory.of("cuda-arena"));
                SessionOptions options = cuda(0)) {
            options.setMemoryPatternOptimization(hasPatterns);
            final Map<String, OnnxTensor> inputs = Models.inputs(4, 128, 1);
            try (AllocatorSession session = memory.openSession(
                    Models.TINY_BERT, Sessions.MODEL, options, SessionSettings.DEFAULT.withProfiling())) {
                final MemoryProfile profile = session.profile(inputs);
                final MemoryProfile.Peak peak = profile.peaks().stream()
                        .filter(one -> one.memory().location().deviceType() == DeviceType.GPU)
                        .findFirst()
                        .orElseThrow();
                System.out.println(profile);
                assertEquals(session.gpu(0).stats().peakBytesInUse(), peak.bytes());
                assertTrue(peak.unknownBytes() <= peak.bytes() / 100, profile::toString);
                session.run(inputs).close();
            } finally {
                inputs.values().forEach(OnnxTensor::close);
            }
        }
    }

    @Test
    void aLimitHoldsAndItsCauseIsCaught() throws OrtException {
        try (OnnxRuntimeAllocators memory =
                        install(GpuMemory.of("cuda-arena").withOption("arena.max_mem", String.valueOf(64 * MIB)));
                AllocatorSession session = open(memory, "tiny")) {
            final int[] expected = Models.run(session::run, 4, 64, 1);
            for (int i = 0; i < 20; i++) {
                final OrtException failure =
                        assertThrows(OrtException.class, () -> Models.run(session::run, 64, 512, 1));
                final OutOfMemoryException cause = assertInstanceOf(OutOfMemoryException.class, failure.getCause());
                assertEquals(64 * MIB, cause.shortage().limit());
                assertArrayEquals(expected, Models.run(session::run, 4, 64, 1));
            }
            assertTrue(
                    memory.stats().peakBytesHeld() <= 64 * MIB,
                    () -> memory.stats().toString());
        }
    }

    @Test
    void budgetsAreOfEachSession() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(GpuMemory.of("cuda-arena"));
                AllocatorSession poor = open(memory, "poor");
                AllocatorSession rich = open(memory, "rich")) {
            poor.gpu(0).setBudget(poor.gpu(0).stats().bytesInUse() + MIB);
            final OrtException failure = assertThrows(OrtException.class, () -> Models.run(poor::run, 16, 256, 1));
            assertTrue(String.valueOf(failure.getCause()).contains("the budget of poor"), failure::toString);
            assertTrue(Models.run(rich::run, 16, 256, 1).length > 0);
            assertTrue(Models.run(poor::run, 1, 8, 1).length > 0);
        }
    }

    /** Two sessions in turn from changing threads, as in issue 29351 of ONNX Runtime. */
    @ParameterizedTest
    @CsvSource({"best-fit", "compact"})
    void sessionsInTurnFromChangingThreadsHoldWhatTheyHeld(String policy) throws Exception {
        try (OnnxRuntimeAllocators memory = install(GpuMemory.of("cuda-arena").withOption("arena.policy", policy));
                AllocatorSession first = open(memory, "first");
                AllocatorSession second = open(memory, "second");
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            final List<Long> held = new ArrayList<>();
            for (int run = 0; run < RUNS; run++) {
                final AllocatorSession session = run % 2 == 0 ? first : second;
                final int words = 16 + 16 * (run % 5);
                final Future<int[]> result = threads.submit(() -> Models.run(session::run, 2, words, 1));
                assertTrue(result.get().length > 0);
                held.add(memory.stats().bytesHeld());
            }
            assertEquals(held.get(RUNS / 2), held.getLast(), () -> held.toString());
        }
    }

    @Test
    void concurrentRunsOfTwoSessionsAreRight() throws Exception {
        try (OnnxRuntimeAllocators memory = install(GpuMemory.of("cuda-arena"));
                AllocatorSession first = open(memory, "first");
                AllocatorSession second = open(memory, "second")) {
            requireRightAtOnce(first, second);
        }
    }

    /** Runs two sessions from four threads, and compares each result with that of ONNX Runtime's own memory. */
    private void requireRightAtOnce(AllocatorSession first, AllocatorSession second) throws Exception {
        try (OrtSession theirs = openPlain();
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            final List<Future<?>> runs = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                final int seed = i;
                final AllocatorSession session = i % 2 == 0 ? first : second;
                final int[] expected = Models.run(theirs::run, 2, 8 + seed % 100, seed);
                final Callable<Boolean> run = () -> {
                    assertArrayEquals(expected, Models.run(session::run, 2, 8 + seed % 100, seed));
                    return true;
                };
                runs.add(threads.submit(run));
            }
            for (final Future<?> run : runs) {
                run.get();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"best-fit", "compact"})
    void unusedMemoryGoesBackWhileTheSessionLives(String policy) throws OrtException {
        try (OnnxRuntimeAllocators memory = install(GpuMemory.of("cuda-arena").withOption("arena.policy", policy));
                AllocatorSession session = open(memory, "bursts")) {
            Models.run(session::run, 1, 8, 1);
            final long small = memory.stats().bytesHeld();
            final int[] expected = Models.run(session::run, 64, 512, 1);
            final long large = memory.stats().bytesHeld();
            assertTrue(large > 2 * small, () -> small + " and " + large);
            assertTrue(memory.shrink().bytesReleased() > 0);
            final long unused = large - memory.stats().bytesInUse();
            final long returned = large - memory.stats().bytesHeld();
            assertTrue(returned >= 0.95 * unused, () -> returned + " of " + unused);
            assertArrayEquals(expected, Models.run(session::run, 64, 512, 1));
        }
    }

    /** ONNX Runtime takes only its own arenas for arenas here, as the module's page says. */
    @Test
    void theRunOptionForAShrinkIsRejectedByOnnxRuntime() throws OrtException {
        try (OnnxRuntimeAllocators memory = install(GpuMemory.of("cuda-arena"));
                AllocatorSession session = open(memory, "tiny");
                OrtSession.RunOptions last = new OrtSession.RunOptions()) {
            last.addRunConfigEntry("memory.enable_memory_arena_shrinkage", "gpu:0");
            final OrtException failure = assertThrows(
                    OrtException.class,
                    () -> Models.run(
                            inputs -> session.run(inputs, session.session().getOutputNames(), last), 1, 8, 1));
            assertTrue(String.valueOf(failure.getMessage()).contains("Did not find an arena"), failure::toString);
            assertTrue(Models.run(session::run, 1, 8, 1).length > 0);
        }
    }

    @Test
    void theProgramOfTheModulesPageRuns(@TempDir Path folder) throws IOException, OrtException {
        final Path model = Files.write(folder.resolve(Sessions.MODEL), Models.TINY_BERT);
        Examples.gpu(model, (sentences, words) -> Models.inputs(sentences, words, 1));
    }

    @Test
    void processorAndGpuMemoryAreInstalledTogether() throws OrtException {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(environment)
                        .provider("cpu-reference")
                        .gpu(GpuMemory.of("cuda-arena"))
                        .install();
                AllocatorSession session = open(memory, "both");
                OrtSession theirs = openPlain()) {
            assertArrayEquals(Models.run(theirs::run, 2, 64, 1), Models.run(session::run, 2, 64, 1));
            assertTrue(session.stats().numAllocs() > 0, "of processor memory");
            assertTrue(session.gpu(0).stats().numAllocs() > 0, "of GPU memory");
        }
    }

    /** Sessions that sleep. Prints what they take, beside the bare copy of the same bytes. */
    @Nested
    class Sleep {
        private static final int MODELS = Integer.getInteger("allocator.onnxruntime.cuda.models", 20);
        private static final int AWAKE = 8;
        private static final int THREADS = 4;

        /** A layer has 16 MiB. */
        private static final int LAYERS = Integer.getInteger("allocator.onnxruntime.cuda.layers", 16);

        @ParameterizedTest
        @ValueSource(strings = {"0", "1"})
        void outputsAreTheSameOverAThousandCyclesBesideOtherSessions(String sharing) throws Exception {
            final AtomicBoolean isDone = new AtomicBoolean();
            try (OnnxRuntimeAllocators memory = install(paged(sharing));
                    AllocatorSession session = open(memory, SmallModels.deep(LAYERS, 1), "deep");
                    AllocatorSession other = CudaSessionTest.open(memory, "other");
                    ExecutorService threads = Executors.newFixedThreadPool(1)) {
                final int[] expected = SmallModels.runDeep(session::run, 1);
                System.out.println("alone: " + times(memory, session, 50));
                final int[] others = Models.run(other::run, 2, 64, 1);
                final Future<Integer> load = threads.submit(() -> {
                    int runs = 0;
                    for (; !isDone.get(); runs++) {
                        assertArrayEquals(others, Models.run(other::run, 2, 64, 1));
                    }
                    return runs;
                });
                final long inUse = session.gpu(0).stats().bytesInUse();
                try {
                    for (int cycle = 0; cycle < RUNS; cycle++) {
                        assertTrue(session.sleep() >= 16L * MIB * LAYERS);
                        assertTrue(session.isAsleep());
                        assertArrayEquals(expected, SmallModels.runDeep(session::run, 1));
                    }
                    System.out.println("beside another session: " + times(memory, session, 50));
                } finally {
                    isDone.set(true);
                }
                System.out.println(RUNS + " cycles beside " + load.get() + " runs of another session");
                assertEquals(inUse, session.gpu(0).stats().bytesInUse());
            }
        }

        /** Wakes and bare copies in turn, each from pinned memory. */
        private String times(OnnxRuntimeAllocators memory, AllocatorSession session, int rounds) {
            final long byteSize = session.sleep();
            session.wake();
            final InstalledMemory gpu = memory.gpu(0);
            final Allocator pinned = memory.memories().getLast().allocator();
            final long host = pinned.reserve(byteSize);
            final long block = gpu.allocator().reserve(byteSize);
            final List<Double> wakes = new ArrayList<>();
            final List<Double> sleeps = new ArrayList<>();
            final List<Double> copies = new ArrayList<>();
            try (SyncStream stream = gpu.target().createStream()) {
                for (int i = 0; i < rounds; i++) {
                    sleeps.add(millis(session::sleep));
                    wakes.add(millis(session::wake));
                    copies.add(millis(() -> {
                        gpu.target()
                                .dataTransfer()
                                .copy(
                                        new MemoryRange(pinned.info(), host, byteSize),
                                        new MemoryRange(gpu.info(), block, byteSize),
                                        stream);
                        stream.flush();
                    }));
                }
            }
            gpu.allocator().free(block);
            pinned.free(host);
            final double wake = median(wakes);
            final double copy = median(copies);
            return String.format(
                    Locale.ROOT,
                    "%d MiB: bare copy %.2f ms, wake %.2f ms = %.3f x, sleep %.2f ms (medians of %d)",
                    byteSize >> 20,
                    copy,
                    wake,
                    wake / copy,
                    median(sleeps),
                    rounds);
        }

        private static double millis(Runnable work) {
            final long start = System.nanoTime();
            work.run();
            return (System.nanoTime() - start) / 1e6;
        }

        private static double median(List<Double> values) {
            return values.stream().sorted().toList().get(values.size() / 2);
        }

        /** More models than the limit of the device has room for, of which some are used much more than others. */
        @ParameterizedTest
        @ValueSource(strings = {"0", "1"})
        void sessionsUnderALimitOfTheDeviceTakeTurns(String sharing) throws Exception {
            final long modelBytes = 16L * MIB * LAYERS;
            final byte[] model = SmallModels.deep(LAYERS, 1);
            final List<AllocatorSession> sessions = new ArrayList<>();
            try (OnnxRuntimeAllocators memory = install(paged(sharing))) {
                final Budget device = Budget.ofMemory(memory.gpu(0).info());
                device.setLimit(AWAKE * modelBytes + modelBytes / 2 + 96 * MIB);
                try {
                    final List<int[]> expected = new ArrayList<>();
                    for (int i = 0; i < MODELS; i++) {
                        SmallModels.vary(model, i / 64F);
                        sessions.add(open(memory, model, "deep " + i));
                        expected.add(SmallModels.runDeep(sessions.get(i)::run, 1));
                    }
                    assertTrue(
                            sessions.stream().filter(AllocatorSession::isAsleep).count() >= MODELS - AWAKE);
                    System.out.println("first turns: " + use(sessions, expected));
                    System.out.println("the same " + AWAKE + " alone: " + use(sessions.subList(0, AWAKE), expected));
                    System.out.println("all " + MODELS + ", sharing=" + sharing + ": " + use(sessions, expected));
                    assertTrue(
                            memory.gpu(0).stats().bytesHeld() <= device.status().limit());
                } finally {
                    for (final AllocatorSession session : sessions) {
                        session.close();
                    }
                    device.setLimit(Long.MAX_VALUE);
                }
            }
        }

        /** Runs session i with a weight of 1 / (i + 1)<sup>2</sup>, and describes how long runs took. */
        private String use(List<AllocatorSession> sessions, List<int[]> expected) throws Exception {
            final List<Double> awake = Collections.synchronizedList(new ArrayList<>());
            final List<Double> woken = Collections.synchronizedList(new ArrayList<>());
            final List<Future<?>> users = new ArrayList<>();
            try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
                for (int user = 0; user < THREADS; user++) {
                    final Random random = new Random(user);
                    users.add(threads.submit(() -> {
                        for (int run = 0; run < RUNS; run++) {
                            final int which = (int) Math.min(
                                    sessions.size() / (1 + random.nextDouble() * sessions.size()) - 0.5,
                                    sessions.size() - 1);
                            final AllocatorSession session = sessions.get(Math.max(0, which));
                            final boolean isAwake = !session.isAsleep();
                            final long start = System.nanoTime();
                            assertArrayEquals(expected.get(Math.max(0, which)), SmallModels.runDeep(session::run, 1));
                            (isAwake ? awake : woken).add((System.nanoTime() - start) / 1e6);
                        }
                        return true;
                    }));
                }
                for (final Future<?> user : users) {
                    user.get();
                }
            }
            return String.format(
                    Locale.ROOT,
                    "%d runs of awake sessions, median %.2f ms, p99 %.2f ms; %d woke, median %.2f ms",
                    awake.size(),
                    median(awake),
                    awake.stream().sorted().toList().get(awake.size() * 99 / 100),
                    woken.size(),
                    woken.isEmpty() ? 0 : median(woken));
        }
    }

    @Nested
    class Sharing {
        private static final int SESSIONS = 8;
        private static final int SHAPES = 61;
        private static final int ROUNDS = 4;

        @Test
        void equalSessionsHaveTheirWeightsOnceAwakeAndAsleep() throws Exception {
            final byte[] model = SmallModels.deep(16, 1);
            try (OnnxRuntimeAllocators memory = install(paged("1"))) {
                final List<AllocatorSession> sessions = new ArrayList<>();
                try {
                    use(memory.gpu(0), sessions, () -> open(memory, model, "deep " + sessions.size()));
                } finally {
                    for (final AllocatorSession session : sessions) {
                        session.close();
                    }
                }
            }
        }

        /** Prints how long runs take, with and without sharing, once each session has met each shape. */
        @Test
        void runsOfChangingShapesAreTheSame() throws Exception {
            final byte[] model = SmallModels.deep(16, 1);
            final Map<Integer, int[]> expected = new HashMap<>();
            final List<List<Double>> medians = List.of(new ArrayList<>(), new ArrayList<>());
            for (int round = 0; round < ROUNDS; round++) {
                final int isShared = (round + round / 2) % 2; // without, with, with, without
                final List<AllocatorSession> sessions = new ArrayList<>();
                final List<Double> millis = new ArrayList<>();
                try (OnnxRuntimeAllocators memory = install(paged(String.valueOf(isShared)))) {
                    for (int i = 0; i < SESSIONS; i++) {
                        sessions.add(open(memory, model, "deep " + i));
                    }
                    for (int run = 0; run < SESSIONS * SHAPES + RUNS; run++) {
                        final AllocatorSession session = sessions.get(run % SESSIONS);
                        final int rows = 1 + run * 7 % SHAPES;
                        final int[] output = SmallModels.runDeep(
                                inputs -> {
                                    final long start = System.nanoTime();
                                    final OrtSession.Result result = session.run(inputs);
                                    millis.add((System.nanoTime() - start) / 1e6);
                                    return result;
                                },
                                1,
                                rows);
                        assertArrayEquals(expected.computeIfAbsent(rows, _ -> output), output);
                    }
                    medians.get(isShared).add(Sleep.median(millis.subList(SESSIONS * SHAPES, millis.size())));
                    for (final AllocatorSession session : sessions) {
                        session.close();
                    }
                }
            }
            final double without = Sleep.median(medians.get(0));
            final double with = Sleep.median(medians.get(1));
            System.out.printf(
                    Locale.ROOT,
                    "a run %.4f ms, with sharing %.4f ms = %.4f x; medians of rounds: %s%n",
                    without,
                    with,
                    with / without,
                    medians);
        }

        private void use(InstalledMemory gpu, List<AllocatorSession> sessions, Callable<AllocatorSession> open)
                throws Exception {
            sessions.add(open.call());
            final int[] expected = SmallModels.runDeep(sessions.getFirst()::run, 1);
            gpu.shrink();
            final long one = gpu.stats().bytesHeld();
            while (sessions.size() < SESSIONS) {
                sessions.add(open.call());
                assertArrayEquals(expected, SmallModels.runDeep(sessions.getLast()::run, 1));
            }
            gpu.shrink();
            final long all = gpu.stats().bytesHeld();
            System.out.println(SESSIONS + " sessions hold " + all + ", one " + one + "; " + gpu);
            assertTrue(all <= one * 1.05, all + " are held, by one " + one);
            for (final AllocatorSession session : sessions) {
                session.sleep();
            }
            for (final AllocatorSession session : sessions.reversed()) {
                assertArrayEquals(expected, SmallModels.runDeep(session::run, 1));
            }
            gpu.shrink();
            assertEquals(all, gpu.stats().bytesHeld());
            while (!sessions.isEmpty()) {
                sessions.removeFirst().close();
                for (final AllocatorSession session : sessions) {
                    assertArrayEquals(expected, SmallModels.runDeep(session::run, 1));
                }
            }
            assertEquals(0, gpu.bytesInUse());
        }
    }

    @Nested
    class TwoGpus {
        private static final long LIMIT = 64 * MIB;

        @BeforeEach
        void requireTwo() {
            final int count = ServiceLoader.load(EpFactory.class).stream()
                    .map(ServiceLoader.Provider::get)
                    .filter(factory -> factory.name().equals("cuda-arena"))
                    .mapToInt(factory -> factory.discoverDevices().devices().size())
                    .sum();
            assumeTrue(count > 1, "this machine has fewer than two GPUs");
        }

        private OnnxRuntimeAllocators install() {
            return OnnxRuntimeAllocators.on(environment)
                    .gpu(GpuMemory.of("cuda-arena"))
                    .gpu(GpuMemory.of("cuda-arena").withOrdinal(1).withOption("arena.max_mem", String.valueOf(LIMIT)))
                    .install();
        }

        @Test
        void sessionsRunAtOnceEachOnItsOwn() throws Exception {
            try (OnnxRuntimeAllocators memory = install();
                    AllocatorSession first = open(memory, "first", 0);
                    AllocatorSession second = open(memory, "second", 1)) {
                requireRightAtOnce(first, second);
                assertTrue(first.gpu(0).stats().numAllocs() > 100, "the first session has not used its GPU");
                assertTrue(second.gpu(1).stats().numAllocs() > 100, "the second session has not used its GPU");
                assertEquals(0, first.gpu(1).stats().numAllocs());
                assertEquals(0, second.gpu(0).stats().numAllocs());
            }
        }

        @Test
        void aLimitOfOneIsNoLimitOfTheOther() throws OrtException {
            try (OnnxRuntimeAllocators memory = install();
                    AllocatorSession first = open(memory, "first", 0);
                    AllocatorSession second = open(memory, "second", 1)) {
                final OrtException failure =
                        assertThrows(OrtException.class, () -> Models.run(second::run, 64, 512, 1));
                final OutOfMemoryException cause = assertInstanceOf(OutOfMemoryException.class, failure.getCause());
                assertEquals(LIMIT, cause.shortage().limit());
                assertTrue(Models.run(first::run, 64, 512, 1).length > 0);
                assertArrayEquals(Models.run(first::run, 2, 64, 1), Models.run(second::run, 2, 64, 1));
                assertTrue(memory.gpu(0).stats().peakBytesHeld() > LIMIT);
                assertTrue(memory.gpu(1).stats().peakBytesHeld() <= LIMIT);
                assertTrue(memory.gpu(0).shrink().bytesReleased() > 0);
                assertArrayEquals(Models.run(first::run, 2, 64, 1), Models.run(second::run, 2, 64, 1));
            }
        }
    }
}
