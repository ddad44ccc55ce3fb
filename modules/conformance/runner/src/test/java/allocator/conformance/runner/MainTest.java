package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

        @Test
        void anUnknownOption() {
            assertThat(err("--bogus")).contains("error: Unknown option: '--bogus'");
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
        void noProvider() {
            assertThat(err()).contains("no provider found on the module path");
        }
    }

    @Nested
    class Output {
        @Test
        void helpListsTheOptions() {
            assertThat(out("--help")).contains("--replay=FILE", "--list", "Exit codes: 0 no rule is broken");
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
}
