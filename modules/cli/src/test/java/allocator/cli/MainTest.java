package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.cli.output.Terminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class MainTest {
    private static final String LINE = System.lineSeparator();

    /** Runs the command with a writer of results that throws. */
    private static Outcome withOutput(Throwable thrown, String... arguments) {
        final StringWriter err = new StringWriter();
        final Writer out = new Writer() {
            @Override
            public void write(char[] text, int from, int length) throws IOException {
                switch (thrown) {
                    case IOException e -> throw e;
                    case Error e -> throw e;
                    case RuntimeException e -> throw e;
                    default -> throw new AssertionError(thrown);
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        final int exitCode = Main.run(Terminal.of(new PrintWriter(out), new PrintWriter(err)), arguments);
        return new Outcome(exitCode, "", err.toString());
    }

    /** {@code --version} alone goes around the model of the commands. */
    @ParameterizedTest
    @ValueSource(strings = {"--version", "-V"})
    void theVersionIsTheSameWithAndWithoutTheModelOfTheCommands(String argument) {
        final Outcome alone = Outcome.of(argument);
        assertThat(alone.out()).startsWith("allocator ").endsWith(" on Java " + Runtime.version() + LINE);
        assertThat(alone).isEqualTo(Outcome.of("replay", argument)).isEqualTo(Outcome.of(argument, "replay"));
    }

    @Nested
    class LostOutput {
        @ParameterizedTest
        @ValueSource(
                strings = {
                    "--help",
                    "--version",
                    "replay --help",
                    "providers",
                    "providers --json -",
                    "replay --provider cpu-reference --once resnet",
                    "replay --provider cpu-reference --once resnet --json -",
                    "conformance --provider cpu-reference --quick --rules M-02"
                })
        void exitsWithOneAndOneLine(String arguments) {
            final Outcome outcome = withOutput(new IOException("disk full"), arguments.split(" "));
            assertThat(outcome.err()).isEqualTo("allocator: standard output cannot be written: an error" + LINE);
            assertThat(outcome.exitCode()).isEqualTo(1);
        }
    }

    @Nested
    class Errors {
        private static List<Throwable> thrown() {
            return List.of(
                    new OutOfMemoryError("planted"),
                    new StackOverflowError(),
                    new AssertionError("planted"),
                    new NoClassDefFoundError("planted"),
                    new IllegalStateException("planted\nin two lines"));
        }

        @ParameterizedTest
        @MethodSource("thrown")
        void areOneLine(Throwable thrown) {
            for (final String command :
                    List.of("--help", "providers", "replay --provider cpu-reference --once resnet")) {
                final Outcome outcome = withOutput(thrown, command.split(" "));
                assertThat(outcome.exitCode()).isEqualTo(1);
                assertThat(outcome.err())
                        .startsWith("allocator: ")
                        .contains(thrown.getClass().getSimpleName())
                        .hasLineCount(1);
            }
        }

        @Test
        void showTheirOriginIfThatIsWanted() {
            assertThat(withOutput(new StackOverflowError(), "providers", "--verbose")
                            .err())
                    .startsWith("allocator: java.lang.StackOverflowError" + LINE)
                    .contains("\tat ", "allocator.cli.MainTest");
        }

        @Test
        void aHeapThatEndsIsNamedWithTheRemedy() {
            assertThat(withOutput(new OutOfMemoryError("Java heap space"), "providers")
                            .err())
                    .isEqualTo("allocator: the Java heap is too small (JDK_JAVA_OPTIONS=-Xmx8g makes it 8 GiB)" + LINE);
        }
    }
}
