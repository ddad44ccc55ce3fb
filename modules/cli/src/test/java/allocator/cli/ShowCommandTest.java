package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.Environment;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.OutOfMemoryException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code allocator show}, and the pages of {@code replay}. */
class ShowCommandTest {
    @TempDir
    private Path folder;

    private Path failedSnapshot() throws IOException {
        final Path directory = folder.resolve("snapshots");
        try (Environment environment = Environment.builder()
                        .option(EnvironmentBuilder.SNAPSHOT_ON_FAILURE, directory.toString())
                        .build();
                Session session = environment.openSession(SessionOptions.builder()
                        .name("bert \u001b[31m")
                        .provider("cpu-reference")
                        .option("ep.cpu-reference.arena.max_mem", "1048576")
                        .build())) {
            session.allocator().alloc(2 << 20);
        } catch (OutOfMemoryException e) {
            // The snapshot is written.
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.findFirst().orElseThrow();
        }
    }

    private Path trace() throws IOException {
        return Files.writeString(folder.resolve("small.csv"), """
                op,id,bytes,stream
                a,1,1000,0
                a,2,300000,0
                f,1,1000,0
                """);
    }

    @Test
    void aSnapshotIsExplained() throws IOException {
        final Path page = folder.resolve("failure.html");
        final Outcome outcome = Outcome.of("show", failedSnapshot().toString(), "--html", page.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out())
                .startsWith("snapshot of environment, taken 2")
                .contains("bert \\u001b[31m asked for 2.00 MiB of Cpu (cpu:0): more than the limit of 1.00 MiB")
                .contains("  - Raise arena.max_mem above the request, or split the request.")
                .contains("page written: " + page);
        assertThat(Files.readString(page)).startsWith("<!DOCTYPE html>").contains("Why it failed");
    }

    @Test
    void ofSeveralFilesTheOneWrittenLastIsShown() throws IOException {
        final String snapshot = failedSnapshot().toString();
        final Path trace = trace();
        Files.setLastModifiedTime(trace, FileTime.fromMillis(0));
        final Outcome outcome = Outcome.of("show", snapshot, trace.toString());
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.err()).contains("of 2 files, this is the newest: " + snapshot);
        assertThat(outcome.out()).startsWith("snapshot of environment");
        Files.setLastModifiedTime(trace, FileTime.from(Instant.now().plusSeconds(60)));
        assertThat(Outcome.of("show", snapshot, trace.toString()).out()).startsWith("small.csv, 3 events");
        final Outcome missing = Outcome.of("show", snapshot, "gpt2");
        assertThat(missing.exitCode()).isEqualTo(2);
        assertThat(missing.err()).contains("gpt2: no such file");
    }

    @Test
    void itsSummaryIsJsonToo() throws IOException {
        final Outcome outcome = Outcome.of("show", failedSnapshot().toString(), "--json", "-");
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out()).startsWith("{").contains("\"cause\" : \"too_large\"", "\"by_session\" : [");
    }

    @Test
    void aTraceIsShownAndHasAPage() throws IOException {
        final Path page = folder.resolve("trace.html");
        final Outcome outcome =
                Outcome.of("show", trace().toString(), "--provider", "cpu-reference", "--html", page.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.out()).startsWith("small.csv, 3 events").contains("page written: " + page);
        assertThat(Files.readString(page)).contains("best-fit", "slabs", "compact", "small.csv on cpu:0");
    }

    @Test
    void aReplayWritesThePageOfItsPolicies() throws IOException {
        final Path page = folder.resolve("replay.html");
        final Outcome outcome = Outcome.of(
                "replay",
                trace().toString(),
                "--once",
                "--provider",
                "cpu-reference",
                "--policies",
                "slabs",
                "--html",
                page.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.out()).endsWith("page written: " + page + "\n");
        assertThat(Files.readString(page)).contains("\"name\":\"slabs\"").doesNotContain("\"name\":\"compact\"");
    }

    @Test
    void aSnapshotIsWrittenForTheViewerOfPyTorch() throws IOException {
        final Path pickle = folder.resolve("snapshot.pickle");
        final Outcome outcome = Outcome.of("show", failedSnapshot().toString(), "--pickle", pickle.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(Files.readAllBytes(pickle)).startsWith(0x80, 2, '}', '(').endsWith('u', '.');
        assertThat(Outcome.of("show", trace().toString(), "--pickle", pickle.toString())
                        .err())
                .contains("--pickle is for a snapshot");
    }

    private Path recording() throws IOException {
        final Path file = folder.resolve("memory.jfr");
        try (Recording recording = new Recording()) {
            List.of("Allocation", "Free", "Growth", "SessionOpen", "SessionClose")
                    .forEach(name -> recording.enable("allocator." + name));
            recording.start();
            failedSnapshot();
            try (Environment environment = Environment.builder().build();
                    Session session = environment.openSession(SessionOptions.builder()
                            .name("small")
                            .provider("cpu-reference")
                            .option("ep.cpu-reference.arena.exclusive", "1")
                            .build())) {
                session.allocator().free(session.allocator().alloc(5000));
            }
            recording.stop();
            recording.dump(file);
        }
        return file;
    }

    @Test
    void aRecordingIsShownAndHasAPageAndATrace() throws IOException {
        final Path page = folder.resolve("recording.html");
        final Path file = recording();
        final Outcome outcome = Outcome.of("show", file.toString(), "--html", page.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out())
                .startsWith("memory.jfr, 1 allocation, 1 free, 1 failure\n")
                .contains("growth region", "bert \\u001b[31m asked for 2.00 MiB of Cpu (cpu:0)")
                .contains("at allocator.cli.ShowCommandTest.failedSnapshot(ShowCommandTest.java:")
                .contains("live at the peak, Cpu (cpu:0)", "ShowCommandTest.recording(ShowCommandTest.java:")
                .contains("page written: " + page);
        assertThat(Files.readString(page)).contains("peak, Cpu (cpu:0)");
        assertThat(Outcome.of("show", file.toString(), "--json", "-").out())
                .contains("\"allocations\" : 1", "\"operation\" : \"growth\"", "\"name\" : \"small\"");

        final Outcome imported = Outcome.of("trace", "import", file.toString());
        assertThat(imported.err()).isEmpty();
        assertThat(imported.out()).endsWith("written: " + folder.resolve("memory.trace.csv.gz") + "\n");
        assertThat(Outcome.of(
                                "trace",
                                "info",
                                folder.resolve("memory.trace.csv.gz").toString())
                        .out())
                .contains("allocations");
    }

    @Test
    void theSettingsOfRecordingsAreWrittenAndMakeOne() throws Exception {
        final Path settings = folder.resolve("java-allocator.jfc");
        final Outcome outcome = Outcome.of("show", "--settings", settings.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.out()).isEqualTo("settings written: " + settings + "\n");
        assertThat(Configuration.create(settings).getSettings()).containsEntry("allocator.Growth#enabled", "true");
        assertThat(Outcome.of("show").exitCode()).isEqualTo(2);
    }

    @Test
    void whatIsReadIsNotReplaced() throws IOException {
        final Path snapshot = failedSnapshot();
        final byte[] before = Files.readAllBytes(snapshot);
        for (final String option : List.of("--html", "--json", "--pickle")) {
            final Outcome outcome = Outcome.of("show", snapshot.toString(), option, snapshot.toString());
            assertThat(outcome.exitCode()).isEqualTo(2);
            assertThat(outcome.err()).contains(option + " " + snapshot + ": is the file that is read");
        }
        assertThat(snapshot).hasBinaryContent(before);
        final String trace = trace().toString();
        for (final List<String> command : List.of(
                List.of("trace", "info", trace, "--json", trace),
                List.of("plan", trace, "-o", trace),
                List.of("replay", trace, "--json", trace),
                List.of("trace", "import", trace, "-o", trace))) {
            assertThat(Outcome.of(command.toArray(String[]::new)).err()).contains("is the file that is read");
        }
    }

    @Test
    void aRecordingThatIsCutIsOneLine() throws IOException {
        final byte[] whole = Files.readAllBytes(recording());
        final Path cut = Files.write(folder.resolve("cut.jfr"), Arrays.copyOf(whole, whole.length - 1));
        for (final String[] command : new String[][] {{"show", cut.toString()}, {"trace", "import", cut.toString()}}) {
            final Outcome outcome = Outcome.of(command);
            assertThat(outcome.exitCode()).isEqualTo(1);
            assertThat(outcome.err())
                    .startsWith("allocator: " + cut + ": is truncated")
                    .hasLineCount(1);
            assertThat(outcome.out()).isEmpty();
        }
    }

    /** What kind of file it was meant to be cannot be known, whatever its name. */
    @ParameterizedTest
    @ValueSource(strings = {"empty.jfr", "empty.json", "empty.csv"})
    void anEmptyFileIsNoTrace(String name) throws IOException {
        final Path empty = Files.createFile(folder.resolve(name));
        final Outcome shown = Outcome.of("show", empty.toString());
        assertThat(shown.exitCode()).isEqualTo(1);
        assertThat(shown.err())
                .isEqualTo("allocator: " + empty + ": is empty: it is neither a snapshot, a recording nor a trace\n");
        final Outcome imported = Outcome.of("trace", "import", empty.toString());
        assertThat(imported.exitCode()).isEqualTo(1);
        assertThat(imported.err())
                .isEqualTo("allocator: " + empty + ": is empty: it is neither a recording nor a log\n");
    }

    @Test
    void leaksAreShownByCallSite() throws IOException {
        final Path directory = folder.resolve("leaks");
        try (Environment environment = Environment.builder()
                .option(EnvironmentBuilder.LEAKS, "full")
                .option(EnvironmentBuilder.LEAKS_REPORT, directory.toString())
                .option(EnvironmentBuilder.HISTORY, "100")
                .build()) {
            final Session session = environment.openSession(SessionOptions.builder()
                    .name("bert \u001b[31m")
                    .provider("cpu-reference")
                    .build());
            final long first = session.allocator().alloc(5000);
            session.close();
            session.allocators().forEach(allocator -> allocator.free(first));
        }
        final Path report;
        try (Stream<Path> files = Files.list(directory)) {
            report = files.findFirst().orElseThrow();
        }
        final Path page = folder.resolve("leaks.html");
        final Outcome outcome = Outcome.of("show", report.toString(), "--html", page.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.out())
                .contains("session bert \\u001b[31m: 1 block is live, 1 of them recorded")
                .contains("ShowCommandTest.leaksAreShownByCallSite(ShowCommandTest.java:");
        assertThat(Files.readString(page)).contains("\"leaks\":{", "\"history\":{", "leaksAreShownByCallSite");
        assertThat(Outcome.of("show", report.toString(), "--json", "-").out())
                .contains("\"leaks\" : {", "\"bytes\" : 5000");
    }

    @Test
    void namedBlocksAreShownByOperatorLayerAndKind() throws IOException {
        final Path file = Files.writeString(folder.resolve("named.json"), """
                {"format":"java.allocator.snapshot","version":1,"taken_at":"2026-11-25T12:00:00Z","scope":"bert",
                 "allocators":[{"provider":"cpu-reference","memory":{"name":"Cpu","device":"cpu","vendor":0,"ordinal":0,
                   "type":"default","alignment":64,"role":"device"},"regions":[],
                   "blocks":[["1000",4096,4000,"live",0],["3000",512,500,"live",0]],
                   "sites":[["1000","bert","/m/layer.0/Add (Add, activation)",-1],
                   ["3000","bert","weights (weight)",-1]]}]}
                """);
        final String shown = Outcome.of("show", file.toString()).out();
        assertThat(shown)
                .containsSubsequence(
                        "by kind", "activation", "by layer", "/m/layer.0\n", "by operator", "/m/layer.0/Add\n")
                .doesNotContain("by call site");
        assertThat(Outcome.of("show", file.toString(), "--json", "-").out().replaceAll("\\s", ""))
                .contains(
                        "\"by_operator\":[{\"name\":\"/m/layer.0/Add\",\"blocks\":1,\"requested\":4000,\"bytes\":4096}",
                        "\"by_layer\":[{\"name\":\"/m/layer.0\"",
                        "\"by_kind\":[{\"name\":\"activation\"",
                        "\"by_site\":[]");
    }

    @Test
    void weightsThatSleepOrHaveOneCopyAreShown() throws IOException {
        final String allocator = """
                {"provider":"cuda-arena","memory":{"name":"Cuda","device":"gpu","vendor":0,"ordinal":0,"type":"default",
                 "alignment":256,"role":"device"},"stats":{"in_use":6291456%s},"regions":[],
                 "blocks":[["1000",6291456,6291456,"live",0],["700000",6291456,6291456,"live",0]]}""";
        final Path file = Files.writeString(folder.resolve("asleep.json"), """
                {"format":"java.allocator.snapshot","version":1,"taken_at":"2026-11-25T12:00:00Z","scope":"environment",
                 "allocators":[%s,%s]}
                """.formatted(
                        allocator.formatted(",\"shared\":6291456,\"asleep\":3145728"), allocator.formatted("")));
        assertThat(Outcome.of("show", file.toString()).out())
                .containsOnlyOnce("  less shared  6.00 MiB")
                .containsOnlyOnce("  less asleep  3.00 MiB");
        assertThat(Outcome.of("show", file.toString(), "--json", "-").out())
                .containsOnlyOnce("\"shared\" : 6291456")
                .containsOnlyOnce("\"asleep\" : 3145728");
    }

    @Test
    void wrongInputIsReportedInOneLine() throws IOException {
        final Path cut = Files.writeString(folder.resolve("cut.json"), "{\"format\":\"java.allocator.snapshot\",");
        final Outcome damaged = Outcome.of("show", cut.toString());
        assertThat(damaged.exitCode()).isEqualTo(1);
        assertThat(damaged.err())
                .startsWith("allocator: " + cut + ": is cut off: it ends within the snapshot at line 1, column 3")
                .hasLineCount(1);
        assertThat(Outcome.of("show", folder.resolve("none").toString()).exitCode())
                .isEqualTo(2);
        final Outcome two = Outcome.of(
                "replay", "gpt2", "bert", "--html", folder.resolve("x.html").toString());
        assertThat(two.exitCode()).isEqualTo(2);
        assertThat(two.err()).contains("--html shows one trace, and 2 are given");
    }
}
