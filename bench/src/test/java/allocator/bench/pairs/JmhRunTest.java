package allocator.bench.pairs;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JmhRunTest {
    private static final int USAGE = 2;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--workloads=large,huge | no workload is called 'huge'; there are large,",
                "--subjects=arena,orts | no subject is called 'orts'; there are arena,",
                "--keep=../x | --keep takes letters, digits, '.', '_' and '-': ../x",
                "--threads=0 | --rounds and --threads take numbers from 1",
                "--lanes=0 | --lanes takes numbers from 1 to that of processors, ",
                "--rounds=-1 | --rounds and --threads take numbers from 1",
                "--library=arena=/bin/sh | arena takes no library",
                "--no-memory | Unknown option: '--no-memory'",
                "AllocFreePair | Unmatched argument at index 1: 'AllocFreePair'"
            })
    void wrongOptionsAreReportedAndNothingRuns(String option, String message) {
        final Console console = new Console();

        assertThat(JmhRun.execute(console.out(), console.err(), "--results=" + folder, option))
                .isEqualTo(USAGE);
        assertThat(console.errors()).contains(message);
        assertThat(console.output()).isEmpty();
    }

    /** A whole run, as short as can be: of each subject a JVM in which both measure. */
    @Test
    @Tag("thorough")
    void measuresByBothAndKeepsATableAndACsv() throws IOException {
        final Console console = new Console();

        assertThat(JmhRun.execute(
                        console.out(),
                        console.err(),
                        "--results=" + folder,
                        "--keep=both",
                        "--quick",
                        "--subjects=malloc,netty-pooled",
                        "--workloads=replay",
                        "--threads=1",
                        "--commit=abc"))
                .as(console::errors)
                .isZero();
        assertThat(folder.resolve("both.md")).content().isEqualToIgnoringNewLines(console.output());
        assertThat(console.output())
                .contains("- commit: abc", "left out: nothing", "| replay | 1 | netty-pooled | ", " of 1 ratios agree");
        final Results results = Results.parse(Files.readAllLines(folder.resolve("both.csv")));
        for (final String subject : List.of("malloc", "netty-pooled")) {
            final Results.Cell cell = new Results.Cell(subject, "replay", 1);
            for (final Metric metric : List.of(Metric.CPU_NS, Metric.JMH_CPU_NS, Metric.JMH_WALL_NS)) {
                assertThat(results.median(cell, metric))
                        .as(results::toCsv)
                        .isPositive()
                        .isFinite();
            }
        }
    }

    @Test
    void aSubjectThatFailsIsLeftOut() {
        final Console console = new Console();

        assertThat(JmhRun.execute(
                        console.out(),
                        console.err(),
                        "--quick",
                        "--subjects=jemalloc",
                        "--library=jemalloc=/etc/hostname",
                        "--workloads=replay",
                        "--threads=1"))
                .isZero();
        final String cause = " failed (java.lang.IllegalArgumentException: Cannot open library: /etc/hostname)";
        assertThat(console.output()).contains("jemalloc under replay" + cause).contains("0 of 0 ratios agree");
    }
}
