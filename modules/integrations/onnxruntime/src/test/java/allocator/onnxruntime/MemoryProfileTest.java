package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.OrtSession.SessionOptions.ExecutionMode;
import allocator.onnxruntime.MemoryProfile.Allocation;
import allocator.onnxruntime.MemoryProfile.Kind;
import allocator.onnxruntime.MemoryProfile.Peak;
import allocator.onnxruntime.MemoryProfile.Share;
import allocator.onnxruntime.ProfileFile.Span;
import allocator.onnxruntime.support.SystemMemory;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.Allocator;
import allocator.view.Breakdown;
import allocator.view.Breakdown.By;
import allocator.view.Breakdown.Group;
import allocator.view.SnapshotFile;
import allocator.view.recording.Recording;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sessions that are profiled, and the names of their blocks in later runs. */
class MemoryProfileTest {
    private static final int LENGTH = 1000;
    private static final long X = LENGTH * Float.BYTES;

    private static final List<String> NAMES = IntStream.range(0, SmallModels.OPERATORS)
            .mapToObj(i -> SmallModels.operator(i) + " (Concat, "
                    + (i == SmallModels.OPERATORS - 1 ? "output)" : "activation)"))
            .toList();

    private final Watched heap = new Watched();
    private final SessionOptions options = new SessionOptions();
    private final OnnxRuntimeAllocators memory = Sessions.install(heap);

    /** Calls back at each allocation of a run, before it. */
    private static final class Watched extends HeapAllocator {
        private volatile Runnable watcher = () -> {};

        @Override
        public long alloc(long byteSize) {
            watcher.run();
            return super.alloc(byteSize);
        }
    }

    @BeforeEach
    void useOneThread() throws OrtException {
        options.setIntraOpNumThreads(1);
    }

    @AfterEach
    void close() {
        options.close();
        memory.close();
        assertEquals(0, heap.liveBlocks());
        assertEquals(Set.of(), profiles());
    }

    /** The folders of profiles that this process has not deleted. */
    private static Set<String> profiles() {
        final String[] files =
                Path.of(System.getProperty("java.io.tmpdir")).toFile().list();
        final Set<String> profiles = new TreeSet<>(List.of(files == null ? new String[0] : files));
        final String prefix = "allocator-profile-" + ProcessHandle.current().pid() + "-";
        profiles.removeIf(name -> !name.startsWith(prefix));
        return profiles;
    }

    private AllocatorSession open(byte[] model) throws OrtException {
        return memory.openSession(model, "small", options, SessionSettings.DEFAULT.withProfiling());
    }

    private static MemoryProfile profile(AllocatorSession session, Map<String, OnnxTensor> inputs) throws OrtException {
        try {
            return session.profile(inputs);
        } finally {
            inputs.values().forEach(OnnxTensor::close);
        }
    }

    /** Runs once and returns the names of blocks, in the order of their allocations. */
    @SuppressWarnings("ReferenceEquality") // a thread is itself
    private List<String> run(AllocatorSession session, Map<String, OnnxTensor> inputs) throws OrtException {
        final List<String> names = new ArrayList<>();
        final Thread thread = Thread.currentThread();
        heap.watcher = () -> {
            if (Thread.currentThread() == thread) {
                addNames(session, names);
            }
        };
        try (OrtSession.Result result = session.run(inputs)) {
            assertEquals(1, result.size());
            addNames(session, names);
        } finally {
            heap.watcher = () -> {};
            inputs.values().forEach(OnnxTensor::close);
        }
        return names;
    }

    private static void addNames(AllocatorSession session, List<String> names) {
        for (final Site site : sites(session).values()) {
            if (!names.contains(site.frame())) {
                names.add(site.frame());
            }
        }
    }

    private static Map<Long, Site> sites(AllocatorSession session) {
        final Map<Long, Site> sites = new HashMap<>();
        session.memories().getFirst().exported().addSites("small", sites);
        return sites;
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void everyByteAtThePeakOfAModelHasAName(boolean isBert, boolean hasPatterns) throws OrtException {
        options.setMemoryPatternOptimization(hasPatterns);
        try (AllocatorSession session = open(isBert ? Models.TINY_BERT : SqueezeNet.bytes())) {
            final MemoryProfile profile = profile(session, isBert ? Models.inputs(4, 128, 1) : image());
            final Peak peak = profile.peak();
            assertEquals(session.stats().peakBytesInUse(), peak.bytes());
            assertTrue(peak.unknownBytes() <= peak.bytes() / 100, profile::toString);
            // What the layout of a memory pattern leaves unused is no operator's.
            assertTrue(bytes(peak.byNode(), "memory pattern") <= peak.bytes() / 10, profile::toString);
            for (final List<Share> shares : List.of(peak.byNode(), peak.byLayer(), peak.byKind())) {
                assertEquals(
                        peak.bytes(), shares.stream().mapToLong(Share::bytes).sum());
            }
            assertEquals(
                    hasPatterns,
                    profile.allocations().stream().anyMatch(one -> one.node().equals("memory pattern")));
            System.out.println(profile);
        }
    }

    private static long bytes(List<Share> shares, String name) {
        return shares.stream()
                .filter(share -> share.name().equals(name))
                .mapToLong(Share::bytes)
                .sum();
    }

    private static Map<String, OnnxTensor> image() throws OrtException {
        return Map.of("image", OnnxTensor.createTensor(OrtEnvironment.getEnvironment(), new float[1][3][64][64]));
    }

    @Test
    void tenOperatorsHaveTheirTensors() throws OrtException {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.chain())) {
            final MemoryProfile profile = profile(session, SmallModels.x(LENGTH));

            assertEquals(
                    NAMES,
                    profile.allocations().stream().map(Allocation::toString).toList());
            assertEquals(
                    IntStream.range(0, SmallModels.OPERATORS)
                            .mapToObj(i -> (i + 2) * X)
                            .toList(),
                    profile.allocations().stream().map(Allocation::byteSize).toList());
            assertEquals(
                    List.of(new Share(SmallModels.operator(9), 11 * X), new Share(SmallModels.operator(8), 10 * X)),
                    profile.peak().byNode());
            assertEquals(
                    List.of(new Share("/net/layer.4", 21 * X)), profile.peak().byLayer());
            assertEquals(
                    List.of(new Share("output", 11 * X), new Share("activation", 10 * X)),
                    profile.peak().byKind());
        }
    }

    @Test
    void theTensorsInTheBlockOfAMemoryPatternAreNamed() throws OrtException {
        try (AllocatorSession session = open(SmallModels.chain())) {
            final MemoryProfile profile = profile(session, SmallModels.x(LENGTH));

            assertEquals(
                    List.of("memory pattern (activation)", NAMES.getLast()),
                    profile.allocations().stream().map(Allocation::toString).toList());
            final long block = profile.allocations().getFirst().byteSize();
            assertEquals(block + 11 * X, profile.peak().bytes());
            assertEquals(10 * X, bytes(profile.peak().byNode(), SmallModels.operator(8)), profile::toString);
            assertEquals(9 * X, bytes(profile.peak().byNode(), SmallModels.operator(7)), profile::toString);
            assertEquals(block - 19 * X, bytes(profile.peak().byNode(), "memory pattern"), profile::toString);
            assertEquals(List.of("memory pattern (activation)", NAMES.getLast()), run(session, SmallModels.x(LENGTH)));
        }
    }

    @Test
    void aPatternOfEarlierRunsIsOneBlock() throws OrtException {
        try (AllocatorSession session = open(SmallModels.chain())) {
            assertEquals(List.of(), run(session, SmallModels.x(LENGTH)));
            final Peak peak = profile(session, SmallModels.x(LENGTH)).peak();
            assertEquals(Set.of("memory pattern", SmallModels.operator(9)), names(peak.byNode()));
        }
    }

    private static Set<String> names(List<Share> shares) {
        return Set.copyOf(shares.stream().map(Share::name).toList());
    }

    @Test
    void laterRunsAreNamedAsLongAsTheyAreAlike() throws OrtException {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.chain())) {
            profile(session, SmallModels.x(LENGTH));
            assertEquals(NAMES, run(session, SmallModels.x(LENGTH)));
            assertEquals(List.of(), run(session, SmallModels.x(LENGTH + 1)));
            assertEquals(NAMES, run(session, SmallModels.x(LENGTH)));
            final Map<String, OnnxTensor> inputs = SmallModels.x(LENGTH);
            session.session().run(inputs).close();
            assertEquals(NAMES, run(session, inputs));
        }
    }

    @Test
    void weightsAreNamedFromTheOpeningOn() throws OrtException {
        try (AllocatorSession session = open(Models.TINY_BERT)) {
            final Map<Long, Site> sites = sites(session);
            assertEquals(session.liveBlocks(), sites.size());
            assertTrue(sites.values().stream().allMatch(site -> site.frame().equals("weights (weight)")));
            final Peak peak = profile(session, Models.inputs(1, 8, 1)).peak();
            assertEquals(session.stats().bytesInUse(), bytes(peak.byKind(), "weight"));
        }
    }

    @Test
    void whatIsLiveOfEarlierRunsIsUnknown() throws OrtException {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.chain())) {
            final Map<String, OnnxTensor> inputs = SmallModels.x(LENGTH);
            try (OrtSession.Result result = session.run(inputs)) {
                assertEquals(1, result.size());
                final Peak peak = profile(session, inputs).peak();
                assertEquals(32 * X, peak.bytes());
                assertEquals(11 * X, peak.unknownBytes());
            }
        }
    }

    @Test
    void runsAtOnceHaveNoNames() throws Exception {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.chain())) {
            profile(session, SmallModels.x(LENGTH));
            final List<String> names = new ArrayList<>();
            final CountDownLatch isRunning = new CountDownLatch(3);
            final CountDownLatch mayGoOn = new CountDownLatch(1);
            heap.watcher = () -> {
                isRunning.countDown();
                if (isRunning.getCount() == 0) {
                    await(mayGoOn);
                }
            };
            final CompletableFuture<Void> other = CompletableFuture.runAsync(() -> {
                try (OrtSession.Result result = session.run(SmallModels.x(LENGTH))) {
                    assertEquals(1, result.size());
                    addNames(session, names);
                } catch (OrtException e) {
                    throw new IllegalStateException(e);
                }
            });
            await(isRunning);
            heap.watcher = () -> {};
            try {
                // What the other run has had before this one begins keeps its name.
                assertEquals(NAMES.subList(1, 2), run(session, SmallModels.x(LENGTH)));
            } finally {
                mayGoOn.countDown();
            }
            other.get(1, TimeUnit.MINUTES);
            assertEquals(List.of(), names);
            assertEquals(NAMES, run(session, SmallModels.x(LENGTH)));
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(1, TimeUnit.MINUTES));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aFailureSaysWhichOperatorRequestedTheMemory() throws OrtException {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.chain())) {
            session.setBudget(12 * X);
            assertThrows(OrtException.class, () -> profile(session, SmallModels.x(LENGTH)));
            assertFalse(session.lastFailure().orElseThrow().dump().contains("requested by"));
            session.setBudget(21 * X);
            profile(session, SmallModels.x(LENGTH));
            session.setBudget(12 * X);
            assertThrows(OrtException.class, () -> run(session, SmallModels.x(LENGTH)));
            final String dump = session.lastFailure().orElseThrow().dump();
            assertTrue(dump.startsWith("requested by " + NAMES.get(5) + ", 28,000 bytes\n"), dump);
            assertThrows(OrtException.class, () -> run(session, SmallModels.x(2 * LENGTH)));
            assertFalse(session.lastFailure().orElseThrow().dump().contains("requested by"));
            session.setBudget(21 * X);
            assertEquals(NAMES, run(session, SmallModels.x(LENGTH)));
        }
    }

    /** The operators behind the choice could allocate as much as others in another run. */
    @ParameterizedTest
    @CsvSource({"true, choose", "false, choose", "true, choose \"it\"", "false, choose \"it\""})
    void whatFollowsAChoiceIsNamedInTheProfileOnly(boolean which, String name) throws OrtException {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.choice(name))) {
            final MemoryProfile profile = profile(session, SmallModels.x(LENGTH, which));
            assertEquals(
                    List.of("before", which ? "left" : "right", "after"),
                    profile.allocations().stream().map(Allocation::node).toList());
            final List<String> certain = List.of("before (Concat, activation)");
            assertEquals(certain, run(session, SmallModels.x(LENGTH, which)));
            assertEquals(certain, run(session, SmallModels.x(LENGTH, !which)));
        }
    }

    @Test
    void parallelExecutionIsCountedAsUnknown() throws OrtException {
        options.setExecutionMode(ExecutionMode.PARALLEL);
        options.setInterOpNumThreads(2);
        try (AllocatorSession session = open(SmallModels.chain())) {
            final MemoryProfile profile = profile(session, SmallModels.x(LENGTH));
            assertEquals(21 * X, profile.peak().bytes());
            assertEquals(21 * X, profile.peak().unknownBytes());
            assertTrue(profile.allocations().stream().allMatch(one -> one.kind() == Kind.UNKNOWN));
            assertEquals(List.of(), run(session, SmallModels.x(LENGTH)));
        }
    }

    @Test
    void whatAnotherRunHasBesideTheProfiledOneIsUnknown() throws Exception {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(SmallModels.chain())) {
            final CountDownLatch isRunning = new CountDownLatch(3);
            final CountDownLatch mayGoOn = new CountDownLatch(1);
            heap.watcher = () -> {
                isRunning.countDown();
                if (isRunning.getCount() == 0) {
                    await(mayGoOn);
                }
            };
            final CompletableFuture<List<String>> other = CompletableFuture.supplyAsync(() -> {
                try (OrtSession.Result result = session.run(SmallModels.x(LENGTH))) {
                    assertEquals(1, result.size());
                    return List.copyOf(
                            sites(session).values().stream().map(Site::frame).toList());
                } catch (OrtException e) {
                    throw new IllegalStateException(e);
                }
            });
            await(isRunning);
            heap.watcher = () -> {};
            final MemoryProfile profile;
            try {
                profile = profile(session, SmallModels.x(LENGTH));
            } finally {
                mayGoOn.countDown();
            }
            assertEquals(List.of(), other.get(1, TimeUnit.MINUTES));
            assertEquals(
                    NAMES,
                    profile.allocations().stream().map(Allocation::toString).toList());
            // The other run's tensor, and the one that it waits for, are there all the time.
            assertEquals((3 + 4 + 21) * X, profile.peak().bytes());
            assertEquals((3 + 4) * X, profile.peak().unknownBytes());
            assertEquals(NAMES, run(session, SmallModels.x(LENGTH)));
        }
    }

    @Test
    void aRunThatEndsInAnErrorLeavesNamesAsTheyWere() throws OrtException {
        options.setMemoryPatternOptimization(false);
        try (AllocatorSession session = open(Models.TINY_BERT)) {
            assertThrows(OrtException.class, () -> profile(session, outOfRange()));
            final MemoryProfile profile = profile(session, Models.inputs(1, 8, 1));
            assertEquals(0, profile.peak().unknownBytes());
            final List<String> names = run(session, Models.inputs(1, 8, 1));
            assertTrue(names.size() > 10, names::toString);
            assertThrows(OrtException.class, () -> run(session, outOfRange()));
            assertEquals(names, run(session, Models.inputs(1, 8, 1)));
        }
    }

    /** Words that the model does not know: an operator in the middle of the run fails. */
    private static Map<String, OnnxTensor> outOfRange() throws OrtException {
        final OrtEnvironment environment = OrtEnvironment.getEnvironment();
        final long[][] words = {{1, 2, 3, 1L << 40, 5, 6, 7, 8}};
        final long[][] mask = {{1, 1, 1, 1, 1, 1, 1, 1}};
        return Map.of(
                "input_ids", OnnxTensor.createTensor(environment, words),
                "attention_mask", OnnxTensor.createTensor(environment, mask));
    }

    @Test
    void aRecordingSaysWhoHasMostAtThePeak(@TempDir Path folder) throws Exception {
        options.setMemoryPatternOptimization(false);
        final Path file = folder.resolve("ort.jfr");
        try (AllocatorSession session = open(SmallModels.chain());
                jdk.jfr.Recording recording = new jdk.jfr.Recording()) {
            profile(session, SmallModels.x(LENGTH));
            recording.enable("allocator.Allocation");
            recording.enable("allocator.Free");
            recording.start();
            run(session, SmallModels.x(LENGTH));
            recording.stop();
            recording.dump(file);
        }
        final AllocatorState peak = Recording.read(file).liveAtPeak().getFirst();
        assertEquals(
                List.of(
                        new Group(SmallModels.operator(9), 1, 11 * X, 11 * X),
                        new Group(SmallModels.operator(8), 1, 10 * X, 10 * X)),
                Breakdown.by(By.OPERATOR, peak));
        assertEquals(List.of(new Group("/net/layer.4", 2, 21 * X, 21 * X)), Breakdown.by(By.LAYER, peak));
        assertEquals(
                List.of("output", "activation"),
                Breakdown.by(By.KIND, peak).stream().map(Group::name).toList());
        final List<Group> lines = Breakdown.by(By.SITE, peak);
        assertEquals(1, lines.size());
        assertFalse(lines.getFirst().name().contains("Concat"), lines::toString);
    }

    @Test
    void aSnapshotOfAFailureSaysWhoHasMost(@TempDir Path folder) throws Exception {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        options.setMemoryPatternOptimization(false);
        memory.close();
        try (OnnxRuntimeAllocators recorded = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, folder.toString())
                        .install();
                AllocatorSession session = recorded.openSession(
                        Models.TINY_BERT, "tiny_bert", options, SessionSettings.DEFAULT.withProfiling())) {
            final Peak peak = profile(session, Models.inputs(4, 128, 1)).peak();
            session.setBudget(peak.bytes() - 1);
            final Map<String, OnnxTensor> inputs = Models.inputs(4, 128, 1);
            assertThrows(OrtException.class, () -> session.run(inputs));
            inputs.values().forEach(OnnxTensor::close);
        }
        final Path file;
        try (Stream<Path> files = Files.list(folder)) {
            file = files.findFirst().orElseThrow();
        }
        final Snapshot snapshot = SnapshotFile.read(file);
        final List<String> stack = Objects.requireNonNull(snapshot.failure()).stack();
        assertTrue(stack.getFirst().matches("\\S+ \\(\\w+, \\w+\\)"), stack::toString);
        final AllocatorState state = snapshot.allocators().getFirst();
        assertTrue(
                Set.copyOf(Breakdown.by(By.KIND, state).stream()
                                .map(Group::name)
                                .toList())
                        .containsAll(Set.of("weight", "activation")),
                state::toString);
        assertTrue(Breakdown.by(By.LAYER, state).stream()
                .anyMatch(group -> group.name().equals("/m/encoder/layer.0")));
        assertEquals(List.of(), Breakdown.by(By.SITE, state));
    }

    @Test
    void theRestOfTheProcessIsFromElsewhere() throws OrtException {
        assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "resident memory can be read on Linux only");
        try (AllocatorSession session = open(SmallModels.chain())) {
            final MemoryProfile profile = profile(session, SmallModels.x(LENGTH));
            final long resident = SystemMemory.resident().orElseThrow();
            final long elsewhere = profile.elsewhere().orElseThrow();
            assertTrue(elsewhere > resident / 2 && elsewhere < 2 * resident, profile::toString);
            assertTrue(profile.toString().contains("\nfrom elsewhere: "), profile::toString);
        }
    }

    @Test
    void whatAnInstallationHoldsIsNotFromElsewhere() throws OrtException {
        assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "resident memory can be read on Linux only");
        memory.close();
        try (OnnxRuntimeAllocators holding = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                AllocatorSession session = holding.openSession(
                        SmallModels.chain(), "small", options, SessionSettings.DEFAULT.withProfiling())) {
            // Never written to, so not resident: more is held than that.
            final Allocator arena = holding.memories().getFirst().allocator();
            final long block = arena.alloc(2 * SystemMemory.resident().orElseThrow());
            final MemoryProfile profile = profile(session, SmallModels.x(LENGTH));
            arena.free(block);
            assertEquals(OptionalLong.of(0), profile.elsewhere());
        }
    }

    @Test
    void aSessionWithoutTheSettingCannotBeProfiled() throws OrtException {
        try (AllocatorSession session =
                memory.openSession(SmallModels.chain(), "small", options, SessionSettings.DEFAULT)) {
            assertNull(session.memories().getFirst().exported().names());
            final IllegalStateException failure =
                    assertThrows(IllegalStateException.class, () -> profile(session, SmallModels.x(LENGTH)));
            assertEquals(
                    "the session small cannot be profiled; open it with SessionSettings.DEFAULT.withProfiling()",
                    failure.getMessage());
        }
    }

    @Test
    void aSessionIsProfiledOnceAndItsOptionsAreAsBefore() throws OrtException {
        try (AllocatorSession session = open(SmallModels.chain());
                AllocatorSession plain =
                        memory.openSession(SmallModels.chain(), "plain", options, SessionSettings.DEFAULT)) {
            assertEquals(1, profiles().size());
            assertEquals("", plain.session().endProfiling());
            profile(session, SmallModels.x(LENGTH));
            assertEquals(Set.of(), profiles());
            final IllegalStateException failure =
                    assertThrows(IllegalStateException.class, () -> profile(session, SmallModels.x(LENGTH)));
            assertTrue(failure.getMessage().contains("was profiled"), failure::toString);
        }
    }

    @Test
    void aSessionThatIsNotProfiledOrNotOpenedLeavesNoFile() throws OrtException {
        open(SmallModels.chain()).close();
        assertEquals(Set.of(), profiles());
        assertThrows(OrtException.class, () -> open(new byte[] {1, 2, 3}));
        assertEquals(Set.of(), profiles());
        final AllocatorSession session = open(SmallModels.chain());
        session.session().close();
    }

    @Test
    void aNameStandsBeforeTheLineOfTheProgram() throws OrtException {
        memory.close();
        try (OnnxRuntimeAllocators recorded = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .allocator(heap)
                        .option("memory.call_sites", "1")
                        .install();
                AllocatorSession session = recorded.openSession(
                        SmallModels.chain(), "small", options, SessionSettings.DEFAULT.withProfiling())) {
            final Map<String, OnnxTensor> inputs = SmallModels.x(LENGTH);
            profile(session, SmallModels.x(LENGTH));
            try (OrtSession.Result result = session.run(inputs)) {
                assertEquals(1, result.size());
                final String frame = sites(session).values().iterator().next().frame();
                assertTrue(frame.startsWith(NAMES.getLast() + " at "), frame);
            }
        }
    }

    @Test
    void anOperatorWhoseEventCannotBeReadHasNoName(@TempDir Path folder) throws IOException {
        final String begin =
                "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :2,\"dur\" :3,\"ts\" :4,\"ph\" : \"X\",\"name\" :\"";
        final String end = "_kernel_time\",\"args\" : {\"x\" : [{\"float\":[1]}],\"op_name\" : \"Add\"}},";
        final Path file = Files.write(
                folder.resolve("profile.json"),
                Stream.of("a", "quote\"d", "back\\slash", "b")
                        .map(name -> begin + name + end)
                        .toList());
        Files.writeString(file, Files.readString(file).substring(0, (int) Files.size(file) - 20) + "\n]\n");
        assertEquals(
                List.of(
                        new Span("a", "Add", 2, 1_004_000, 1_009_000),
                        new Span(ProfileFile.UNREADABLE, ProfileFile.UNREADABLE, 2, 1_004_000, 1_009_000),
                        new Span("backslash", "Add", 2, 1_004_000, 1_009_000),
                        new Span(ProfileFile.UNREADABLE, ProfileFile.UNREADABLE, 2, 1_004_000, 1_009_000)),
                ProfileFile.read(file, 1_000_000));
    }
}
