package allocator.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.spi.ShrinkReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the system sees of a session's memory: pages of this process. */
class ResidentMemoryTest {
    private static final long MIB = 1 << 20;
    private static final Path STATM = Path.of("/proc/self/statm");

    @BeforeAll
    static void requireLinux() {
        assumeTrue(Files.isReadable(STATM), "resident memory can be read on Linux only");
    }

    /** Resident bytes of this process, once garbage is collected. */
    static long residentBytes() {
        System.gc();
        try {
            return Long.parseLong(Files.readString(STATM).split(" ", -1)[1]) * 4096;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static OnnxRuntimeAllocators install() {
        return OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
                .provider("cpu-reference")
                .install();
    }

    private static AllocatorSession open(OnnxRuntimeAllocators memory) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return memory.openSession(Models.TINY_BERT, "tiny_bert", options, SessionSettings.DEFAULT);
        }
    }

    @Test
    void aShrinkGivesBackWhatABurstTook() throws OrtException {
        requireShrink(24);
    }

    @ParameterizedTest
    @Tag("thorough")
    @ValueSource(ints = {48, 96})
    void aShrinkGivesBackWhatALargerBurstTook(int sentences) throws OrtException {
        requireShrink(sentences);
    }

    private static void requireShrink(int sentences) throws OrtException {
        try (OnnxRuntimeAllocators memory = install();
                AllocatorSession session = open(memory)) {
            // The first bursts pay for what ONNX Runtime and the JVM keep outside of any allocator.
            for (int i = 0; i < 3; i++) {
                Models.run(session::run, sentences, 256, 1);
                memory.shrink();
            }
            final int[] expected = Models.run(session::run, 1, 16, 1);
            memory.shrink();
            final long idle = residentBytes();

            Models.run(session::run, sentences, 256, 1);
            final long burst = residentBytes();
            final long unused = memory.stats().bytesHeld() - memory.stats().bytesInUse();
            final ShrinkReport report = memory.shrink();
            final long after = residentBytes();

            final String figures = "idle " + idle + ", after the burst " + burst + ", after the shrink " + after + ", "
                    + unused + " unused, " + report;
            System.out.println(figures);
            assertTrue(report.bytesReleased() >= 0.95 * unused, figures);
            assertTrue(burst - idle > sentences * MIB, figures);
            assertTrue(burst - after >= 0.95 * (burst - idle), figures);
            assertArrayEquals(expected, Models.run(session::run, 1, 16, 1));
        }
    }

    /** ONNX Runtime's issue 29351: memory bound to the thread or stream of a run was never used by another. */
    @Tag("thorough")
    @Test
    void memoryStaysFlatWhenRunsHopThreads() throws Exception {
        try (OnnxRuntimeAllocators memory = install();
                AllocatorSession session = open(memory)) {
            final int[] expected = Models.run(session::run, 8, 64, 1);
            // The second run of a shape is the first that takes its memory as ONNX Runtime has planned it.
            assertArrayEquals(expected, Models.run(session::run, 8, 64, 1));
            final long held = memory.stats().bytesHeld();
            final long peak = session.stats().peakBytesInUse();
            hop(session, expected, 50);
            final long resident = residentBytes();
            hop(session, expected, 200);
            final long grown = residentBytes() - resident;
            assertEquals(held, memory.stats().bytesHeld());
            assertEquals(peak, session.stats().peakBytesInUse());
            assertTrue(grown < 16 * MIB, "resident memory grew by " + grown + ", a run has " + peak);
        }
    }

    /** Each run on a thread of its own, platform and virtual ones in turn. */
    private static void hop(AllocatorSession session, int[] expected, int runs) throws InterruptedException {
        final List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < runs; i++) {
            final Runnable run = () -> {
                try {
                    assertArrayEquals(expected, Models.run(session::run, 8, 64, 1));
                } catch (OrtException | AssertionError e) {
                    failures.add(e);
                }
            };
            (i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).start(run).join();
        }
        assertEquals(List.of(), failures);
    }
}
