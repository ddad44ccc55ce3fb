package allocator.bench.pairs;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.Console;
import allocator.bench.pairs.Figures.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RivalsTest {
    private static final int USAGE = 2;

    @TempDir
    private Path folder;

    private final Console console = new Console();

    private int run(String... options) {
        final String[] args = new String[options.length + 1];
        args[0] = "--results=" + folder;
        System.arraycopy(options, 0, args, 1, options.length);
        return Rivals.execute(console.out(), console.err(), args);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--workloads=large,huge | no workload is called 'huge'; there are large,",
                "--subjects=arena,orts | no subject is called 'orts'; there are arena,",
                "--keep=../x | --keep takes letters, digits, '.', '_' and '-': ../x",
                "--keep= | --keep takes letters",
                "--draw=a/b | --draw takes letters",
                "--draw=absent | no such file: ",
                "--threads=0 | --rounds and --threads take numbers from 1",
                "--threads=two | Invalid value for option '--threads'",
                "--rounds=-1 | --rounds and --threads take numbers from 1",
                "--library=jemalloc=/no/such.so | no library to read: /no/such.so",
                "--library=arena=/bin/sh | arena takes no library",
                "--library=emalloc=/bin/sh | no subject is called 'emalloc'",
                "--fast | Unknown option: '--fast'"
            })
    void wrongOptionsAreReportedAndNothingRuns(String option, String message) {
        assertThat(run(option)).isEqualTo(USAGE);
        assertThat(console.errors()).contains(message);
        assertThat(console.output()).isEmpty();
    }

    @Test
    void keptFiguresAreDrawnAgain() throws IOException {
        final Figures figures = new Figures();
        figures.add(1, new Row("arena", "large", 1, Rivals.CPU_NS), 40);
        figures.add(1, new Row("ort", "large", 1, Rivals.CPU_NS), 160);
        figures.add(1, new Row("ort", "large", 2, Rivals.WALL_NS), 600);
        Files.writeString(folder.resolve("kept.csv"), figures.toCsv());

        assertThat(run("--draw=kept")).as(console.errors()).isZero();
        // Two charts, with the colours of what was measured only.
        assertThat(folder.resolve("kept.svg"))
                .content()
                .contains("height=\"860", "rgb(11,79,158)", "rgb(217,87,43)")
                .doesNotContain("rgb(47,143,78)");
    }

    @Test
    void aFileThatIsNoResultIsRejected() throws IOException {
        Files.writeString(folder.resolve("kept.csv"), "a,b\n");

        assertThat(run("--draw=kept")).isEqualTo(USAGE);
        assertThat(console.errors()).contains("kept.csv is not what --keep writes: the first line");
    }

    /** A whole run, as short as can be, in JVMs of its own; one subject cannot be opened. */
    @Test
    @Tag("thorough")
    void aRunIsKeptAsATableACsvAndAPicture() throws IOException {
        final int status = run(
                "--keep=first",
                "--quick",
                "--subjects=arena,malloc,jemalloc",
                "--library=jemalloc=/etc/hostname",
                "--workloads=replay",
                "--threads=2",
                "--commit=abc");
        assertThat(status).as(console.errors()).isZero();
        assertThat(folder.resolve("first.md")).content().isEqualToIgnoringNewLines(console.output());
        assertThat(console.output()).contains("- commit: abc", "| arena | ", "left out: jemalloc under replay failed");
        final Figures figures = Figures.parse(Files.readAllLines(folder.resolve("first.csv")));
        assertThat(figures.median(new Row("arena", "replay", 2, Rivals.WALL_NS)))
                .isGreaterThan(1);
        assertThat(figures.median(new Row("malloc", "replay", 2, Rivals.CPU_NS)))
                .isGreaterThan(1);
        assertThat(folder.resolve("first.svg")).isNotEmptyFile();
    }
}
