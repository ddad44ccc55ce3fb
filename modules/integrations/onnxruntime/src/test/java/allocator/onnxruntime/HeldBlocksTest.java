package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import allocator.onnxruntime.program.Leaking;
import allocator.runtime.inspection.InspectionOptions;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.spi.InvalidOptionException;
import allocator.view.Page;
import allocator.view.SnapshotFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is reported of blocks that ONNX Runtime holds when a session is closed, or when the installation cannot be. */
class HeldBlocksTest {
    private static final String PREDICT = "allocator.onnxruntime.program.Leaking.predict(Leaking.java:";
    private static final String LOAD = "allocator.onnxruntime.program.Leaking.load(Leaking.java:";

    @TempDir
    private Path folder;

    private final Logger logger = Logger.getLogger("allocator.runtime");
    private final List<String> warnings = new CopyOnWriteArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            if (record.getLevel().equals(Level.WARNING)) {
                warnings.add(record.getMessage());
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    @BeforeEach
    void listen() {
        logger.addHandler(handler);
    }

    @AfterEach
    void stop() {
        logger.removeHandler(handler);
    }

    private static OnnxRuntimeAllocators.Builder builder() {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment()).provider("cpu-reference");
    }

    private OnnxRuntimeAllocators install(String leaks) {
        return builder()
                .option(OnnxRuntimeAllocators.LEAKS, leaks)
                .option(OnnxRuntimeAllocators.LEAKS_REPORT, folder.toString())
                .install();
    }

    private static AllocatorSession load(OnnxRuntimeAllocators memory) throws OrtException {
        return Leaking.load(memory, Models.TINY_BERT, "tiny");
    }

    /** Runs the model with so many sentences of eight words. The inputs are closed. */
    private static OrtSession.Result predict(AllocatorSession session, int sentences) throws OrtException {
        final Map<String, OnnxTensor> inputs = Models.inputs(sentences, 8, 1);
        try {
            return Leaking.predict(session, inputs);
        } finally {
            inputs.values().forEach(OnnxTensor::close);
        }
    }

    /** The bytes of a result. */
    private static long bytes(OrtSession.Result result) throws OrtException {
        long bytes = 0;
        for (final Map.Entry<String, OnnxValue> output : result) {
            bytes += ((OnnxTensor) output.getValue()).getByteBuffer().remaining();
        }
        return bytes;
    }

    private Snapshot only() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            final List<Path> all = files.toList();
            assertEquals(1, all.size(), all::toString);
            return SnapshotFile.read(all.getFirst());
        }
    }

    private static Leaks leaks(Snapshot report) {
        return Objects.requireNonNull(report.leaks());
    }

    @Test
    void aTensorThatIsNeverClosedLeadsToTheRunThatMadeIt() throws OrtException, IOException {
        final OnnxRuntimeAllocators memory = install("full");
        final AllocatorSession session = load(memory);
        predict(session, 2).close();
        final OrtSession.Result first = predict(session, 1);
        final OrtSession.Result second = predict(session, 3);
        final long bytes = bytes(first) + bytes(second);
        session.close();
        session.close();

        final Snapshot report = only();
        assertEquals("tiny", report.scope());
        assertEquals(1, report.sessions().size());
        assertTrue(report.sessions().getFirst().isClosed());
        final Leaks leaks = leaks(report);
        assertEquals("session tiny", leaks.closed());
        assertEquals(session.liveBlocks(), leaks.blocks());
        assertEquals(leaks.blocks(), leaks.recorded());
        assertEquals(1, leaks.sites().size(), leaks::toString);
        final LeakSite site = leaks.sites().getFirst();
        assertEquals("tiny", site.owner());
        assertEquals("Cpu (cpu:0)", site.memory());
        assertTrue(site.frame().startsWith(PREDICT), site::toString);
        assertEquals(bytes, site.bytes());
        assertEquals(1, report.allocators().size());
        assertEquals("cpu-reference", report.allocators().getFirst().provider());
        assertEquals(leaks.blocks(), report.allocators().getFirst().sites().size());
        assertTrue(Page.of("leaks", report).contains("Leaking.predict(Leaking.java:"));
        assertEquals(1, warnings.size(), warnings::toString);
        final String line = warnings.getFirst();
        assertTrue(
                line.startsWith("session tiny: " + leaks.blocks() + " blocks are live, " + leaks.blocks()
                        + " of them recorded: " + leaks.blocks() + " with " + bytes + " bytes of Cpu (cpu:0) at "
                        + PREDICT),
                line);
        assertTrue(line.contains("; report written to " + folder), line);

        // What a close does is as without a report: the tensors stay valid, and the installation waits for them.
        assertEquals(bytes, bytes(first) + bytes(second));
        first.close();
        second.close();
        memory.close();
        assertEquals(1, warnings.size(), warnings::toString);
    }

    /** Such as an application's own: what is recorded is then compared with no list of chunks. */
    @Test
    void anAllocatorThatListsNoChunksIsReportedToo() throws OrtException, IOException {
        final HeapAllocator heap = new HeapAllocator();
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .allocator(heap)
                .option(OnnxRuntimeAllocators.LEAKS, "full")
                .option(OnnxRuntimeAllocators.LEAKS_REPORT, folder.toString())
                .install()) {
            final AllocatorSession session = load(memory);
            predict(session, 4).close();
            final OrtSession.Result result = predict(session, 2);
            session.close();
            final Snapshot report = only();
            assertEquals(session.liveBlocks(), leaks(report).blocks());
            assertEquals(session.liveBlocks(), leaks(report).recorded());
            assertEquals(bytes(result), leaks(report).sites().getFirst().bytes());
            assertEquals("application", report.allocators().getFirst().provider());
            assertFalse(report.allocators().getFirst().missing().isEmpty());
            result.close();
        }
        assertEquals(0, heap.liveBlocks());
    }

    @Test
    void anInstallationThatCannotBeClosedReportsAllThatIsHeld() throws OrtException, IOException {
        final OnnxRuntimeAllocators memory = install("full");
        final OrtSession plain = Sessions.openPlain(true);
        final AllocatorSession session = load(memory);
        final OrtSession.Result ofSession = predict(session, 1);
        final Map<String, OnnxTensor> inputs = Models.inputs(1, 8, 1);
        final OrtSession.Result ofPlain = Leaking.predictPlain(plain, inputs);
        inputs.values().forEach(OnnxTensor::close);

        final IllegalStateException failure = assertThrows(IllegalStateException.class, memory::close);

        assertEquals("the session tiny is open; close it first", failure.getMessage());
        final Snapshot report = only();
        final Leaks leaks = leaks(report);
        assertEquals("environment", report.scope());
        assertEquals("installation that cannot be closed", leaks.closed());
        assertEquals(leaks.blocks(), leaks.recorded());
        assertFalse(report.sessions().getFirst().isClosed());
        assertEquals(session.liveBlocks(), report.sessions().getFirst().liveBlocks());
        assertTrue(has(leaks, "tiny", PREDICT), leaks::toString);
        assertTrue(has(leaks, "tiny", LOAD), leaks::toString);
        assertTrue(has(leaks, "environment", PREDICT.replace("predict", "predictPlain")), leaks::toString);
        ofSession.close();
        session.close();
        ofPlain.close();
        plain.close();
        memory.close();
        assertEquals(1, warnings.size(), warnings::toString);
    }

    private static boolean has(Leaks leaks, String owner, String frame) {
        return leaks.sites().stream()
                .anyMatch(site -> site.owner().equals(owner) && site.frame().startsWith(frame));
    }

    @Test
    void aSampleIsRecordedOfManyTensors() throws OrtException, IOException {
        final List<OrtSession.Result> results = new ArrayList<>();
        try (OnnxRuntimeAllocators memory = install("sampled")) {
            final AllocatorSession session = load(memory);
            for (int i = 0; i < 1500; i++) {
                results.add(predict(session, 1));
            }
            session.close();
            final Leaks leaks = leaks(only());
            assertEquals(session.liveBlocks(), leaks.blocks());
            assertTrue(leaks.blocks() >= 1500, leaks::toString);
            assertTrue(leaks.recorded() > 0 && leaks.recorded() < leaks.blocks() / 20, leaks::toString);
            assertTrue(leaks.sites().getFirst().frame().startsWith(PREDICT), leaks::toString);
            results.forEach(OrtSession.Result::close);
        }
    }

    @Test
    void whatIsClosedIsNotReported() throws OrtException {
        try (OnnxRuntimeAllocators memory = install("full");
                AllocatorSession session = load(memory)) {
            memory.warmUp();
            predict(session, 4).close();
            assertNotNull(memory.shrink());
        }
        assertEquals(List.of(), warnings);
        assertEquals(0, Objects.requireNonNull(folder.toFile().list()).length);
    }

    @Test
    void withoutTheOptionNothingIsRecordedOrReported() throws OrtException {
        assertNull(new HeldBlocks(new InspectionOptions("test", HeldBlocks.FRAMES).leakReports(), 0).sites());
        final OrtSession.Result result;
        try (OnnxRuntimeAllocators memory = builder().install()) {
            try (AllocatorSession session = load(memory)) {
                result = predict(session, 1);
            }
            assertThrows(IllegalStateException.class, memory::close);
            result.close();
        }
        assertEquals(List.of(), warnings);
    }

    @Test
    void aReportThatCannotBeWrittenFailsNoClose() throws OrtException, IOException {
        final Path file = Files.createFile(folder.resolve("file"));
        try (OnnxRuntimeAllocators memory = builder()
                .option(OnnxRuntimeAllocators.LEAKS, "full")
                .option(OnnxRuntimeAllocators.LEAKS_REPORT, file.toString())
                .install()) {
            final AllocatorSession session = load(memory);
            final OrtSession.Result result = predict(session, 1);
            session.close();
            assertEquals(1, warnings.size(), warnings::toString);
            assertTrue(warnings.getFirst().contains("; no report in " + file + ": "), warnings::toString);
            result.close();
        }
    }

    @Test
    void wrongValuesAreRejectedAndLeaveNothingInstalled() {
        final OnnxRuntimeAllocators.Builder builder = builder();
        assertThrows(InvalidOptionException.class, () -> builder.option(OnnxRuntimeAllocators.LEAKS, "on"));
        assertThrows(InvalidOptionException.class, () -> builder.option(OnnxRuntimeAllocators.LEAKS_REPORT, " "));
        builder.option(OnnxRuntimeAllocators.LEAKS_REPORT, folder.toString());
        final InvalidOptionException failure = assertThrows(InvalidOptionException.class, builder::install);
        assertTrue(String.valueOf(failure.getMessage()).contains("memory.leaks=sampled"), failure::toString);
        builder().install().close();
    }
}
