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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
        assertThat(Files.readString(page)).contains("best-fit", "quick-fit", "compact", "small.csv on cpu:0");
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
                "quick-fit",
                "--html",
                page.toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.out()).endsWith("page written: " + page + "\n");
        assertThat(Files.readString(page)).contains("\"name\":\"quick-fit\"").doesNotContain("\"name\":\"compact\"");
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

    @Test
    void wrongInputIsReportedInOneLine() throws IOException {
        final Path cut = Files.writeString(folder.resolve("cut.json"), "{\"format\":\"java.allocator.snapshot\",");
        final Outcome damaged = Outcome.of("show", cut.toString());
        assertThat(damaged.exitCode()).isEqualTo(1);
        assertThat(damaged.err())
                .startsWith("allocator: " + cut + ": is not a whole snapshot")
                .hasLineCount(1);
        assertThat(Outcome.of("show", folder.resolve("none").toString()).exitCode())
                .isEqualTo(2);
        final Outcome two = Outcome.of(
                "replay", "gpt2", "bert", "--html", folder.resolve("x.html").toString());
        assertThat(two.exitCode()).isEqualTo(2);
        assertThat(two.err()).contains("--html shows one trace, and 2 are given");
    }
}
