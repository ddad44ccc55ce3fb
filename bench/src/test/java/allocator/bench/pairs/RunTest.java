package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunTest {
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
    void wrongOptionsAreToldAndNothingRuns(String option, String message) {
        final Console console = new Console();

        assertEquals(USAGE, Run.execute(console.out(), console.err(), "--results=" + folder, option));
        assertTrue(console.errors().contains(message), console::errors);
        assertEquals("", console.output());
    }

    @Test
    void drawsWhatWasKept() throws IOException {
        final Results results = new Results();
        results.add(1, new Results.Cell("arena", "large", 1), Metric.CPU_NS, 40);
        results.add(1, new Results.Cell("ort", "large", 1), Metric.CPU_NS, 160);
        results.add(1, new Results.Cell("ort", "large", 2), Metric.WALL_NS, 600);
        Files.writeString(folder.resolve("kept.csv"), results.toCsv());
        final Console console = new Console();

        assertEquals(0, Run.execute(console.out(), console.err(), "--results=" + folder, "--draw=kept"));
        final String picture = Files.readString(folder.resolve("kept.svg"));
        // Two charts, with the colours of what was measured only.
        assertTrue(picture.contains("height=\"860"), picture);
        assertTrue(picture.contains("rgb(11,79,158)") && picture.contains("rgb(217,87,43)"), picture);
        assertFalse(picture.contains("rgb(47,143,78)"), picture);
    }

    @Test
    void aFileThatIsNoResultIsRefused() throws IOException {
        Files.writeString(folder.resolve("kept.csv"), "a,b\n");
        final Console console = new Console();

        assertEquals(USAGE, Run.execute(console.out(), console.err(), "--results=" + folder, "--draw=kept"));
        assertTrue(console.errors().contains("kept.csv is not what --keep writes: the first line"), console::errors);
    }

    /** A whole run, as short as can be, in JVMs of its own. */
    @Test
    void measuresAndKeepsATableACsvAndAPicture() throws IOException {
        final Console console = new Console();

        assertEquals(
                0,
                Run.execute(
                        console.out(),
                        console.err(),
                        "--results=" + folder,
                        "--keep=first",
                        "--quick",
                        "--subjects=arena,malloc",
                        "--workloads=replay",
                        "--threads=2",
                        "--commit=abc"),
                console::errors);
        assertEquals(
                console.output().strip(),
                Files.readString(folder.resolve("first.md")).strip());
        assertTrue(console.output().contains("- commit: abc"), console::output);
        assertTrue(console.output().contains("| arena | "), console::output);
        final Results results = Results.parse(Files.readAllLines(folder.resolve("first.csv")));
        final Results.Cell cell = new Results.Cell("arena", "replay", 2);
        assertTrue(results.median(cell, Metric.WALL_NS) > 1, results::toCsv);
        assertTrue(results.median(cell, Metric.CPU_NS) > 1, results::toCsv);
        assertTrue(results.median(cell, Metric.P50_NS) <= results.median(cell, Metric.MAX_NS), results::toCsv);
        assertTrue(results.median(cell, Metric.HELD_OVER_LIVE) > 0.5, results::toCsv);
        assertTrue(Files.size(folder.resolve("first.svg")) > 1000);
    }
}
