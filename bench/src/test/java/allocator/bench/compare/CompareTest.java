package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CompareTest {
    private static final int FAILED = 2;

    private final Console console = new Console();

    @Nested
    class Options {
        @ParameterizedTest
        @CsvSource(
                delimiter = '|',
                value = {
                    "--rounds=7 | --rounds takes numbers from 8",
                    "--minutes=0 | --minutes from 1",
                    "--threshold=0 | --threshold above 0",
                    "--threshold=NaN | --threshold above 0",
                    "--subjects=arena:x | --subjects takes NAME or NAME:THREADS: arena:x",
                    "--lanes=0 | --lanes takes numbers from 1",
                    "--fast | Unknown option: '--fast'"
                })
        void wrongOptionsAreReportedAndNothingRuns(String option, String message) {
            assertEquals(FAILED, Compare.execute(console.out(), console.err(), "--a=a", "--b=b", option));
            assertTrue(console.errors().contains(message), console::errors);
        }

        @Test
        void withoutTreesTheOptionsAreCheckedAndNothingRuns() {
            assertEquals(0, Compare.execute(console.out(), console.err(), "--minutes=5"));
            assertEquals("", console.output() + console.errors());
        }
    }

    /** Whole comparisons of trees that have nothing but a {@code bench/side}. */
    @Nested
    class Trees {
        private static final String OFFER = "echo 'bench-side 1'; echo 'subject arena'; echo 'workload large'";

        @TempDir
        private Path folder;

        private Path tree(String name, String list, String measure) throws IOException {
            final Path side = folder.resolve(name).resolve("bench").resolve("side");
            Files.createDirectories(side.getParent());
            Files.writeString(
                    side, "#!/bin/sh\ncase $1 in\nlist) " + list + " ;;\nmeasure) " + measure + " ;;\nesac\n");
            Files.setPosixFilePermissions(side, PosixFilePermissions.fromString("rwx------"));
            return folder.resolve(name);
        }

        private String steady(String nanos) {
            return "echo warning; echo 'bench-side 1'; echo ready; while read window; do echo nanos " + nanos
                    + "; done";
        }

        private int compare(Path a, Path b, String... more) {
            final String[] args = new String[4 + more.length];
            args[0] = "--a=" + a;
            args[1] = "--b=" + b;
            args[2] = "--subjects=arena";
            args[3] = "--workloads=large";
            System.arraycopy(more, 0, args, 4, more.length);
            return Compare.execute(console.out(), console.err(), args);
        }

        @Test
        void equalTreesPass() throws IOException {
            assertEquals(0, compare(tree("a", OFFER, steady("100")), tree("b", OFFER, steady("102"))), console::errors);
            assertTrue(console.output().contains("1.020     [1.020, 1.020]  pass"), console::output);
        }

        @Test
        void aSlowerTreeEndsWithOne() throws IOException {
            final Path a = tree("a", OFFER, steady("100"));
            final Path b = tree("b", OFFER, steady("104"));

            assertEquals(1, compare(a, b), console::errors);
            assertEquals(0, compare(a, b, "--threshold=1.05"), console::errors);
        }

        @Test
        void aSideThatFailsIsNamedWithTheCause() throws IOException {
            final Path broken = tree("b", OFFER, "echo 'bench-side 1'; echo 'no memory' >&2; exit 7");

            assertEquals(FAILED, compare(tree("a", OFFER, steady("100")), broken));
            assertEquals(
                    "bench/compare: B: arena under large: no memory (exit status 7)",
                    console.errors().strip());
        }

        @Test
        void aSideThatLacksASubjectIsNamed() throws IOException {
            final Path other = tree("b", OFFER.replace("arena", "chunk"), steady("100"));

            assertEquals(FAILED, compare(tree("a", OFFER, steady("100")), other, "--name-b=abc"));
            assertEquals(
                    "bench/compare: abc: no subject is called 'arena'; there are chunk",
                    console.errors().strip());
        }

        @Test
        void aSideWithAnotherProtocolIsRejected() throws IOException {
            final Path newer = tree("b", OFFER.replace("side 1", "side 2"), steady("100"));

            assertEquals(FAILED, compare(tree("a", OFFER, steady("100")), newer));
            assertEquals(
                    "bench/compare: B: its bench/side does not print 'bench-side 1'",
                    console.errors().strip());
        }

        @Test
        void aTimeThatIsNoneIsRejected() throws IOException {
            assertEquals(FAILED, compare(tree("a", OFFER, steady("100")), tree("b", OFFER, steady("0"))));
            assertTrue(console.errors().contains("'nanos 0', which is not a time"), console::errors);
        }
    }
}
