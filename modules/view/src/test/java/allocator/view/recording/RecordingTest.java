package allocator.view.recording;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import ai.onnxruntime.OrtSession;
import allocator.runtime.Environment;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.OwnJvm;
import allocator.trace.Trace;
import allocator.trace.TraceWriter;
import allocator.view.Breakdown;
import allocator.view.Page;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordingTest {
    private static final int MIB = 1 << 20;

    @TempDir
    private Path folder;

    /** Some work on our side. */
    private interface Work {
        void run(Session session);
    }

    private Path record(Work work) throws IOException {
        final Path file = folder.resolve("memory.jfr");
        try (jdk.jfr.Recording recording = new jdk.jfr.Recording()) {
            for (final String name :
                    new String[] {"Allocation", "Free", "Growth", "Shrink", "Mapping", "SessionOpen", "SessionClose"}) {
                recording.enable("allocator." + name);
            }
            recording.start();
            try (Environment environment = Environment.builder().build();
                    Session session = environment.openSession(SessionOptions.builder()
                            .name("recorded <b>")
                            .provider("cpu-reference")
                            .option("ep.cpu-reference.arena.exclusive", "1")
                            .option("ep.cpu-reference.arena.max_mem", Long.toString(8 * MIB))
                            .build())) {
                work.run(session);
            }
            recording.stop();
            recording.dump(file);
        }
        return file;
    }

    private static void twoLiveAtThePeak(Session session) {
        final long first = session.allocator().alloc(1000);
        final long second = session.allocator().alloc(3 * MIB);
        session.allocator().free(first);
        final long third = session.allocator().alloc(10);
        session.allocator().free(second);
        try {
            session.allocator().alloc(64 * MIB);
        } catch (OutOfMemoryException e) {
            // Recorded.
        }
        session.allocator().free(third);
    }

    @Test
    void whatHappenedIsSummedUp() throws IOException {
        final Recording recording = Recording.read(record(RecordingTest::twoLiveAtThePeak));
        assertThat(recording.allocations()).isEqualTo(3);
        assertThat(recording.frees()).isEqualTo(3);
        assertThat(recording.sessions()).hasSize(1).first().satisfies(session -> {
            assertThat(session.name()).isEqualTo("recorded <b>");
            assertThat(session.opened()).isBefore(session.closed());
            assertThat(session.liveBlocks()).isZero();
        });
        assertThat(recording.failures()).hasSize(1).first().satisfies(failure -> {
            assertThat(failure.failure().requested()).isEqualTo(64 * MIB);
            assertThat(failure.failure().limit()).isEqualTo(8 * MIB);
            assertThat(failure.failure().stack().getFirst())
                    .startsWith(RecordingTest.class.getName() + ".twoLiveAtThePeak(RecordingTest.java:");
        });
        assertThat(recording.calls())
                .extracting(RecordedCalls::operation, RecordedCalls::part)
                .contains(tuple("growth", "region"), tuple("shrink", "close"));
        assertThat(recording.calls().getFirst().total()).isPositive();
        assertThat(recording.profile().peakRequested()).isEqualTo(3 * MIB + 1000);
        assertThat(recording.profile().peakHeld()).isBetween(3L * MIB + 1000, 8L * MIB);
        assertThat(recording.liveAtEnd()).isEmpty();
    }

    @Test
    void theBlocksOfThePeakHaveTheirSites() throws IOException {
        final Recording recording = Recording.read(record(RecordingTest::twoLiveAtThePeak));
        assertThat(recording.liveAtPeak()).hasSize(1);
        final AllocatorState peak = recording.liveAtPeak().getFirst();
        assertThat(peak.memory()).hasToString("Cpu (cpu:0)");
        assertThat(peak.memoryMap().blocks())
                .extracting(Chunk::requestedBytes)
                .containsExactlyInAnyOrder(1000L, 3L * MIB);
        assertThat(Breakdown.by(Breakdown.By.SESSION, peak))
                .extracting(Breakdown.Group::name)
                .containsExactly("recorded <b>");
        assertThat(Breakdown.by(Breakdown.By.SITE, peak))
                .first()
                .satisfies(group -> assertThat(group.name())
                        .startsWith(RecordingTest.class.getName() + ".twoLiveAtThePeak(RecordingTest.java:"));
    }

    @Test
    void theSiteOfABlockOfOnnxRuntimeIsTheLineOfTheProgramThatRanTheSession() throws IOException {
        final Recording recording = Recording.read(record(RecordingTest::ranByOnnxRuntime));
        assertThat(Breakdown.by(Breakdown.By.SITE, recording.liveAtPeak().getFirst()))
                .first()
                .satisfies(group -> assertThat(group.name())
                        .startsWith(RecordingTest.class.getName() + ".ranByOnnxRuntime(RecordingTest.java:"));
    }

    private static void ranByOnnxRuntime(Session session) {
        session.allocator().free(OrtSession.run(session));
    }

    @Test
    void blocksBecomeATrace() throws IOException {
        final Recording recording = Recording.read(record(RecordingTest::twoLiveAtThePeak));
        final Path trace = folder.resolve("trace.csv");
        try (TraceWriter writer = new TraceWriter(trace)) {
            assertThat(recording.writeTo(writer)).isEqualTo(new TraceConversion(3, 0, 3, 0, 0));
        }
        assertThat(Files.readString(trace)).isEqualTo("""
                op,id,bytes,stream
                a,0,1000,0
                a,1,3145728,0
                f,0,1000,0
                a,2,10,0
                f,1,3145728,0
                f,2,10,0
                """);
        assertThat(Trace.read(trace).liveAtEnd()).isZero();
    }

    @Test
    void aReserveIsOneInTheTrace() throws IOException {
        final Recording recording = Recording.read(record(session -> {
            final long weights = session.allocator().reserve(4000);
            session.allocator().free(weights);
        }));
        final Path trace = folder.resolve("trace.csv");
        try (TraceWriter writer = new TraceWriter(trace)) {
            assertThat(recording.writeTo(writer)).isEqualTo(new TraceConversion(1, 1, 1, 0, 0));
        }
        assertThat(trace).hasContent("op,id,bytes,stream\nr,0,4000,0\nf,0,4000,0");
    }

    @Test
    void itsPageHasTheFailureAndTheTimelineAndEscapesNames() throws IOException {
        final Path file = record(RecordingTest::twoLiveAtThePeak);
        final String page = Page.of("memory.jfr", Recording.read(file).timeline());
        assertThat(page)
                .contains("Recording: 3 allocations, 3 frees, 1 failed request\"", "\"kind\":\"recording\"")
                .contains("\"headline\":\"recorded \\u003cb\\u003e asked for 64.0 MiB of Cpu (cpu:0): more")
                .contains("\"name\":\"recorded\"", "peak, Cpu (cpu:0)")
                .doesNotContain("recorded <b>");
    }

    @Test
    void aTruncatedRecordingIsRejected() throws IOException {
        final byte[] whole = Files.readAllBytes(record(RecordingTest::twoLiveAtThePeak));
        for (final int length : new int[] {4, 10, 67, 68, 1000, whole.length / 2, whole.length - 1}) {
            final Path cut = Files.write(folder.resolve("cut.jfr"), Arrays.copyOf(whole, length));
            assertThat(Recording.looksLikeOne(cut)).isTrue();
            assertThatThrownBy(() -> Recording.read(cut))
                    .isInstanceOf(RecordingException.class)
                    .hasMessageStartingWith(cut + ": is truncated after " + length + " bytes");
        }
    }

    @Test
    void aDamagedRecordingIsReadOrRejected() throws IOException {
        final byte[] whole = Files.readAllBytes(record(RecordingTest::twoLiveAtThePeak));
        final Random random = new Random(20261125);
        int rejected = 0;
        for (int i = 0; i < 60; i++) {
            final byte[] damaged = whole.clone();
            for (int k = 0; k < 4; k++) {
                damaged[68 + random.nextInt(damaged.length - 68)] = (byte) random.nextInt(256);
            }
            final Path file = Files.write(folder.resolve("damaged.jfr"), damaged);
            try {
                Recording.read(file).profile();
            } catch (RecordingException e) {
                rejected++;
                assertThat(e).hasMessageStartingWith(file + ": ");
                assertThat(e.getMessage()).doesNotContainPattern("\\.\\w*(Exception|Error)");
            }
        }
        assertThat(rejected).isPositive();
    }

    @Test
    void otherFilesAreRejected() throws IOException {
        final Path none = Files.writeString(folder.resolve("none.jfr"), "op,id,bytes,stream\n".repeat(10));
        assertThat(Recording.looksLikeOne(none)).isFalse();
        assertThatThrownBy(() -> Recording.read(none)).hasMessage(none + ": is not a recording of the flight recorder");
        assertThatThrownBy(() -> Recording.read(folder.resolve("absent.jfr")))
                .isInstanceOf(RecordingException.class)
                .hasMessageEndingWith("absent.jfr: no such file");

        final byte[] whole = Files.readAllBytes(record(session -> {}));
        ByteBuffer.wrap(whole).putShort(4, (short) 3);
        final Path newer = Files.write(folder.resolve("newer.jfr"), whole);
        assertThatThrownBy(() -> Recording.read(newer))
                .hasMessage(newer + ": has version 3 of the recorder's format, and this program reads 2");
    }

    private Path example(String kind) throws Exception {
        final Path file = folder.resolve(kind + ".jfr");
        OwnJvm.run(List.of(RecordingExamples.class), RecordingExamples.class, List.of(), kind, file.toString());
        return file;
    }

    @Test
    void eventsOfALaterVersionAreRejected() throws Exception {
        final Path file = example("later");
        assertThatThrownBy(() -> Recording.read(file))
                .hasMessageStartingWith(file + ": has events of version 2, and this program reads 1");
    }

    @Test
    void aRecordingOfOtherEventsIsRejected() throws Exception {
        final Path file = example("foreign");
        assertThatThrownBy(() -> Recording.read(file))
                .hasMessage(file + ": has no events of java.allocator: record with settings=java-allocator.jfc");
    }
}
