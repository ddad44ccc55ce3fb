package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.examples.Examples;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.spi.ShrinkReport;
import allocator.trace.ReplayResult;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExamplesTest {
    private static final long MIB = 1 << 20;

    @TempDir
    static Path folder;

    private static final Examples.Inputs INPUTS = (sentences, words) -> Models.inputs(sentences, words, 1);

    private static Path model;

    @BeforeAll
    static void writeModel() throws IOException {
        model = Files.write(folder.resolve("tiny_bert.onnx"), Models.TINY_BERT);
    }

    @Test
    void aSessionIsCappedAndTheFailureCaught() throws Exception {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        final String outcome = Examples.cap(model, INPUTS);
        System.out.println("cap at 64 MiB: " + outcome);
        final long held = Long.parseLong(outcome.replaceAll("held (\\d+) at most, .*", "$1"));
        assertTrue(held <= 64 * MIB, outcome);
    }

    @Test
    void fourSessionsShareOneArena() throws Exception {
        final long[] bytes = Examples.share(model, INPUTS);
        System.out.println("four sessions on one arena hold " + bytes[0] + ", on four arenas " + bytes[1]);
        assertTrue(bytes[0] < bytes[1] / 2, bytes[0] + " of " + bytes[1]);
    }

    @Test
    void residentMemoryFallsAfterAShrink() throws Exception {
        assumeTrue(Files.isReadable(Path.of("/proc/self/statm")), "resident memory can be read on Linux only");
        final long[] resident = new long[1];
        final ShrinkReport report = Examples.shrink(model, INPUTS, () -> resident[0] = residentBytes());
        final long after = residentBytes();
        System.out.println("shrink released " + report.bytesReleased() + " and still holds " + report.bytesHeld()
                + "; resident memory fell by " + (resident[0] - after));
        // Of all that was held, although the weights are still in use.
        assertTrue(report.bytesReleased() >= 0.95 * (report.bytesReleased() + report.bytesHeld()), report::toString);
        // Each region is twice as large as the one before; its untouched pages are not resident.
        assertTrue(resident[0] - after > 20 * MIB, report::toString);
    }

    private static long residentBytes() {
        try {
            return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ", -1)[1]) * 4096;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void whatIsClosedIsNoLeak() throws Exception {
        Examples.leaks(model, INPUTS, folder.resolve("leaks"));
        assertTrue(Files.notExists(folder.resolve("leaks")));
    }

    @Test
    void aSessionIsRecordedAndReplayed() throws Exception {
        final ReplayResult result = Examples.record(model, INPUTS, folder.resolve("tiny_bert.csv.gz"));
        System.out.println("replay of tiny_bert: " + result);
        assertTrue(result.allocations() > 100, result::toString);
        assertEquals(0, result.failedAllocations());
        assertEquals(0, result.liveAtEnd());
    }

    @Test
    void theModulePageShowsWhatTheTourPrints() throws Exception {
        assumeTrue(ThrowingThunk.isSupported(), "failures cannot be returned to ONNX Runtime on this system");
        assertPageHas(() -> Examples.tour(model, INPUTS));
    }

    @Test
    void theModulePageShowsWhatAProfilePrints() throws Exception {
        assertPageHas(() -> Examples.profile(model, INPUTS));
    }

    @Test
    void theModulePageShowsWhatSessionsWithOneCopyHold() throws Exception {
        assumeTrue(Files.isReadable(Path.of("/proc/self/statm")), "weights are shared on Linux only");
        assertPageHas(() -> Examples.weightsOnce(model, 4));
    }

    @Test
    void theModulePageShowsWhatADecoderPrints() throws Exception {
        try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                        .provider("cpu-reference")
                        .install();
                SessionOptions options = new SessionOptions();
                AllocatorSession session = memory.openSession(
                        new Decoder(2, 8, 16, 32).model(), "decoder", options, SessionSettings.DEFAULT)) {
            assertPageHas(() -> Examples.decode(session, memory.memories().getFirst()));
        }
    }

    private interface Sample {
        void run() throws OrtException;
    }

    /** Figures may differ a little from one version of ONNX Runtime to the next, words may not. */
    private static void assertPageHas(Sample sample) throws IOException, OrtException {
        final PrintStream before = System.out;
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            sample.run();
        } finally {
            System.setOut(before);
        }
        final String printed = bytes.toString(StandardCharsets.UTF_8);
        System.out.println(printed);
        final String page =
                Files.readString(Path.of("..", "..", "..", "docs", "modules", "java.allocator.onnxruntime.md"));
        assertTrue(
                withoutFigures(page).contains(withoutFigures("```\n" + printed + "```\n")),
                "the module's page does not have\n" + printed);
    }

    private static String withoutFigures(String text) {
        return text.replaceAll("(?m)^  \\d+ of \\d+\\R", "").replaceAll(" *\\d+", " 0");
    }
}
