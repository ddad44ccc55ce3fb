package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command as a program of its own. */
class MainTest {
    private static String err(String... arguments) {
        final StringWriter err = new StringWriter();
        assertThat(Main.run(new PrintWriter(new StringWriter()), new PrintWriter(err), arguments))
                .isEqualTo(ConformanceCommand.USAGE);
        return err.toString();
    }

    private static String out(String... arguments) {
        final StringWriter out = new StringWriter();
        assertThat(Main.run(new PrintWriter(out), new PrintWriter(new StringWriter()), arguments))
                .isZero();
        return out.toString();
    }

    /** Exit code 2, and one line on standard error. */
    @Nested
    class WrongUsage {
        @Test
        void aMissingValue() {
            assertThat(err("--provider"))
                    .isEqualTo("error: Missing required parameter for option '--provider' (NAME); try --help"
                            + System.lineSeparator());
        }

        @Test
        void aMalformedNumber() {
            assertThat(err("--seed", "x")).contains("error: Invalid value for option '--seed': 'x'");
        }

        @ParameterizedTest
        @ValueSource(strings = {"\u0661", "+1", "\uff11", "", "9223372036854775808"})
        void aNumberThatHasNotOnlyAsciiDigits(String number) {
            assertThat(err("--seed", number))
                    .startsWith("error: Invalid value for option '--seed'")
                    .hasLineCount(1);
            assertThat(err("--timeout", number))
                    .startsWith("error: Invalid value for option '--timeout'")
                    .hasLineCount(1);
        }

        @ParameterizedTest
        @ValueSource(strings = {"--report", "--replay", "--providers-dir", "--provider"})
        void anEmptyName(String option) {
            assertThat(err(option, "")).isEqualTo("error: " + option + ": the name is empty" + System.lineSeparator());
        }

        @Test
        void controlCharactersAreEscaped() {
            assertThat(err("--\u001b[2J")).contains("--\\u001b[2J").doesNotContain("\u001b");
            assertThat(err("--rules", "\u001b[2J", "--replay", "\u009b2J")).doesNotContain("\u001b", "\u009b");
        }

        @Test
        void anUnknownOption() {
            assertThat(err("--bogus")).contains("error: Unknown option: '--bogus'");
        }

        @ParameterizedTest
        @ValueSource(strings = {"9223372037", "9223372036854775807"})
        void aTimeLimitThatNoThreadCanWaitFor(String seconds) {
            assertThat(err("--timeout", seconds))
                    .isEqualTo("error: Invalid value for option '--timeout': '" + seconds
                            + "' is above 9223372036; try --help" + System.lineSeparator());
            assertThat(err("--timeout", "9223372036")).startsWith("error: no provider found");
        }

        @Test
        void aTimeLimitOfZero() {
            assertThat(err("--timeout", "0"))
                    .isEqualTo("error: the time limit is 0 s, it must be above zero" + System.lineSeparator());
        }

        @Test
        void aDirectoryWithoutModules(@TempDir Path folder) {
            assertThat(err("--providers-dir", folder.toString())).contains("there is no module in");
        }

        @Test
        void aBrokenJarIsAWarningAndTheOthersAreRead(@TempDir Path folder) throws IOException {
            Files.writeString(folder.resolve("broken.jar"), "this is no archive");
            new JarOutputStream(Files.newOutputStream(folder.resolve("library.jar")), new Manifest()).close();
            assertThat(err("--providers-dir", folder.toString()).lines().toList())
                    .hasSize(2)
                    .satisfiesExactly(
                            line -> assertThat(line).startsWith("warning: broken.jar cannot be loaded: "),
                            line -> assertThat(line).isEqualTo("error: no provider found in [" + folder + "]"));
        }

        @Test
        void noProvider() {
            assertThat(err())
                    .contains("no provider found on the module path or the class path, by the class loaders [");
        }
    }

    @Nested
    class Output {
        @Test
        void helpListsTheOptions() {
            assertThat(out("--help")).contains("--replay=FILE", "--list", "--minutes=N", "Exit codes: 0 conforms");
        }

        @Test
        void theLastOfRepeatedOptionsCounts() {
            assertThat(err("--timeout", "5", "--timeout", "0")).contains("the time limit is 0 s");
            assertThat(err("--timeout", "0", "--timeout", "5")).doesNotContain("time limit");
        }

        @Test
        void anArgumentWithAnAtIsNoFile(@TempDir Path folder) throws IOException {
            final Path file = Files.writeString(folder.resolve("options"), "--list");
            assertThat(err("@" + file)).contains("@" + file);
        }
    }

    /** Exit code 1 and one line. */
    @Nested
    class Failures {
        private static String failWith(Throwable thrown, String... arguments) {
            final StringWriter err = new StringWriter();
            final Writer out = new Writer() {
                @Override
                public void write(char[] text, int from, int length) throws IOException {
                    if (thrown instanceof IOException e) {
                        throw e;
                    }
                    if (thrown instanceof RuntimeException e) {
                        throw e;
                    }
                    throw (Error) thrown;
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };
            assertThat(Main.run(new PrintWriter(out), new PrintWriter(err), arguments))
                    .isEqualTo(ConformanceCommand.FAILED);
            return err.toString();
        }

        @Test
        void lostOutput() {
            assertThat(failWith(new IOException("disk full"), "--help"))
                    .isEqualTo("error: standard output cannot be written" + System.lineSeparator());
        }

        @Test
        void errors() {
            assertThat(failWith(new OutOfMemoryError("planted"), "--help"))
                    .isEqualTo("error: OutOfMemoryError (planted)" + System.lineSeparator());
            assertThat(failWith(new IllegalStateException("planted"), "--help"))
                    .isEqualTo("error: IllegalStateException (planted)" + System.lineSeparator());
            assertThat(failWith(new StackOverflowError(), "--help"))
                    .isEqualTo("error: StackOverflowError" + System.lineSeparator());
        }
    }
}
