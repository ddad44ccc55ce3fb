package allocator.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TraceCommandTest {
    private static final String LOG = """
            Thread,Time,Action,Pointer,Size,Stream
            1,10:00:00.000001,allocate,0x10,400,0x0
            1,10:00:00.000002,allocate,0x20,500,0x7
            1,10:00:00.000003,allocate failure,0x0,900,0x0
            1,10:00:00.000004,free,0x99,1,0x0
            1,10:00:00.000005,free,0x10,400,0x0
            1,10:00:00.000006,allocate,0x20,300,0x7
            """;

    @TempDir
    private Path folder;

    private Path log(String text) throws IOException {
        return Files.writeString(folder.resolve("rmm.csv"), text);
    }

    private static void assertRejected(Outcome outcome, int exitCode, String message) {
        assertThat(outcome.err()).isEqualTo("allocator: " + message + System.lineSeparator());
        assertThat(outcome.exitCode()).isEqualTo(exitCode);
        assertThat(outcome.out()).isEmpty();
    }

    @Test
    void withoutACommandTheTwoAreNamed() {
        assertRejected(Outcome.of("trace"), 2, "a command is missing: info or import (see allocator trace --help)");
        assertRejected(
                Outcome.of("trace", "show"),
                2,
                "no command 'show', there are info, import (see allocator trace --help)");
    }

    @Nested
    class Info {
        @Test
        void aBundledTraceIsShown() {
            final Outcome outcome = Outcome.of("trace", "info", "two_streams");
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out())
                    .startsWith("two_streams.csv.gz, ")
                    .contains("allocations", "live bytes, peak", "at event ", "lifetime, in events", "size from", "#")
                    .doesNotContain("more streams");
            assertThat(outcome.out().lines())
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(80));
        }

        @Test
        void jsonHasEveryFigure() throws IOException {
            final Path trace =
                    Files.writeString(folder.resolve("t.csv"), "op,id,bytes,stream\na,0,100,0\na,1,28,1\nf,0,100,0\n");
            assertThat(Outcome.of("trace", "info", trace.toString(), "--json", "-")
                            .out())
                    .isEqualToIgnoringWhitespace("""
                            {"trace": "t.csv", "events": 3, "allocations": 2, "frees": 1, "live_at_end": 1,
                             "allocated_bytes": 128, "peak_live_blocks": 2, "peak_live_bytes": 128, "peak_event": 1,
                             "lifetimes": {"shortest": 2, "median": 2, "percentile_90": 2, "longest": 2},
                             "streams": [{"allocations": 1, "allocated_bytes": 100, "peak_live_bytes": 100},
                                         {"allocations": 1, "allocated_bytes": 28, "peak_live_bytes": 28}],
                             "sizes": [{"from": 16, "to": 31, "blocks": 1, "bytes": 28},
                                       {"from": 64, "to": 127, "blocks": 1, "bytes": 100}]}""");
        }

        @ParameterizedTest
        @ValueSource(strings = {"trace info", "show", "plan", "replay --provider cpu-reference --once"})
        void aPipeIsReadOnce(String command) throws Exception {
            final Path pipe = folder.resolve("pipe");
            assumeTrue(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor() == 0);
            final List<String> arguments = new ArrayList<>(List.of(command.split(" ")));
            arguments.add(pipe.toString());
            for (final String content : List.of("op,id,bytes,stream\na,0,100,0\nf,0,100,0\n", "no trace\n")) {
                final Thread writer = Thread.startVirtualThread(() -> {
                    try {
                        Files.writeString(pipe, content);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
                final Outcome outcome = assertTimeoutPreemptively(
                        Duration.ofMinutes(1), () -> Outcome.of(arguments.toArray(String[]::new)));
                writer.join();
                if (content.startsWith("op")) {
                    assertThat(outcome.err()).isEmpty();
                    assertThat(outcome.out()).startsWith("pipe, ");
                } else {
                    assertThat(outcome.err()).startsWith("allocator: " + pipe + ":1: the header is 'no trace'");
                }
            }
        }

        @Test
        void anUnfinishedTraceIsReadAndSaidToBeOne() throws IOException {
            final Path left =
                    Files.writeString(folder.resolve("t.csv.7-a.part"), "op,id,bytes,stream\na,0,100,0\na,1,1");
            final Outcome outcome = Outcome.of("trace", "info", left.toString());
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.err()).contains(left + ": is unfinished", "the 1 event whose lines are whole");
        }

        @Test
        void aMinusIsStandardInput() {
            final InputStream before = System.in;
            try {
                System.setIn(new ByteArrayInputStream("op,id,bytes,stream\na,0,100,0\n".getBytes(UTF_8)));
                assertThat(Outcome.of("trace", "info", "-").out()).startsWith("standard-input, 1 event");
            } finally {
                System.setIn(before);
            }
        }

        @Test
        void whatIsNoTraceIsOneLine() throws IOException {
            final Path log = log(LOG);
            assertRejected(
                    Outcome.of("trace", "info", log.toString()),
                    1,
                    log + ": is a log of RMM: allocator trace import makes a trace of it");
            assertRejected(
                    Outcome.of("trace", "info", "absent.csv"),
                    2,
                    "absent.csv: no such file, and no bundled trace"
                            + " (gpt2, bert, frcnn, llama_train, resnet, two_streams)");
            assertRejected(
                    Outcome.of("trace", "info"),
                    2,
                    "Missing required parameter: 'TRACE' (see allocator trace info --help)");
        }
    }

    @Nested
    class Import {
        @Test
        void aLogOfRmmBecomesATraceThatCanBeReplayed() throws IOException {
            final Path trace = folder.resolve("out.csv");
            final Outcome outcome =
                    Outcome.of("trace", "import", log(LOG).toString(), "-o", trace.toString(), "--json", "-");
            assertThat(outcome.err()).isEmpty();
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out())
                    .contains("\"entries\" : 6", "\"allocations\" : 3", "\"frees\" : 1", "\"added_frees\" : 1")
                    .contains("\"failed_allocations\" : 1", "\"unknown_frees\" : 1");
            assertThat(Files.readString(trace)).isEqualTo("""
                    op,id,bytes,stream
                    a,0,400,0
                    a,1,500,1
                    f,0,400,0
                    f,1,500,1
                    a,2,300,1
                    """);
            assertThat(Outcome.of("trace", "info", trace.toString()).exitCode()).isZero();
        }

        @Test
        void withoutOutputTheTraceIsANewFileBesideTheLog() throws IOException {
            final Path log = log(LOG);
            final Path trace = folder.resolve("rmm.trace.csv.gz");
            assertThat(Outcome.of("trace", "import", log.toString()).out()).endsWith("written: " + trace + "\n");
            assertThat(Outcome.of("trace", "info", trace.toString()).out()).startsWith("rmm.trace.csv.gz, 5 events");
            assertRejected(
                    Outcome.of("trace", "import", log.toString()),
                    2,
                    trace + " exists; --output names the trace to write");
        }

        @ParameterizedTest
        @CsvSource(delimiter = '|', textBlock = """
                        1,t,allocate,0x10,-4,0x0                  | size -4 is negative
                        1,t,allocated,0x10,4,0x0                  | action 'allocated' is unknown
                        1,t,allocate,0x10,4                       | 5 columns instead of 6
                        """)
        void aMalformedLineIsNamedAndNothingIsWritten(String line, String reason) throws IOException {
            final Path log = log("Thread,Time,Action,Pointer,Size,Stream\n" + line + "\n");
            assertRejected(Outcome.of("trace", "import", log.toString()), 1, log + ":2: " + reason);
            assertThat(folder.toFile().list()).containsExactly("rmm.csv");
        }

        @Test
        void whatWasLeftOutOfACutLogAndFreesOfAnotherSizeAreSaid() throws IOException {
            final Path log = log("Thread,Time,Action,Pointer,Size,Stream\n1,t,allocate,0x10,400,0x0\n"
                    + "1,t,free,0x10,300,0x0\n1,t,allo");
            final Outcome outcome = Outcome.of("trace", "import", log.toString());
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.out())
                    .containsPattern(" 1  frees of another size than their allocation")
                    .containsPattern(" 1  other lines left out")
                    .contains(log + ":4: 3 columns instead of 6");
        }

        @Test
        void aSizeThatNoTraceHasIsRejectedAndNothingIsWritten() throws IOException {
            final Path log = log(LOG + "1,t,allocate,0x30," + Long.MAX_VALUE + ",0x0\n");
            assertRejected(
                    Outcome.of("trace", "import", log.toString()),
                    1,
                    log + ": entry 6 allocates 9223372036854775807 bytes, a trace has sizes from 0 to"
                            + " 9223372036854775552");
            assertThat(folder.toFile().list()).containsExactly("rmm.csv");
        }

        @Test
        void whatIsNoLogIsOneLine() throws IOException {
            assertRejected(Outcome.of("trace", "import", "absent.csv"), 2, "absent.csv: no such file");
            assertRejected(Outcome.of("trace", "import", folder.toString()), 2, folder + ": is a directory, not a log");
            assertRejected(Outcome.of("trace", "import", ""), 2, "the name of the log is empty");
            final Path trace = log("op,id,bytes,stream\n");
            assertRejected(
                    Outcome.of("trace", "import", trace.toString()),
                    1,
                    trace + ":1: the header Thread,Time,Action,Pointer,Size,Stream is missing");
            final Path bytes = Files.write(folder.resolve("bytes"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
            assertRejected(Outcome.of("trace", "import", bytes.toString()), 1, bytes + ": is no UTF-8 text");
        }
    }
}
