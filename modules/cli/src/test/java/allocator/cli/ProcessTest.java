package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command as a process of its own, on the module path of this test. */
class ProcessTest {
    @TempDir
    private Path folder;

    private Process start(List<String> jvmArguments, String... arguments) throws IOException {
        return start(List.of(), jvmArguments, folder.resolve("out"), arguments);
    }

    private Process start(List<String> before, List<String> jvmArguments, Path out, String... arguments)
            throws IOException {
        final List<String> command = new ArrayList<>(before);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // It lives for seconds.
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"));
        command.addAll(jvmArguments);
        command.add("--enable-native-access=java.allocator.cpu.reference");
        command.addAll(List.of("--module-path", modulePath()));
        command.addAll(List.of("--module", "java.allocator.cli/allocator.cli.Main"));
        command.addAll(Arrays.asList(arguments));
        return new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
    }

    /** The modules of this test, and the log's, which nothing requires by name. */
    private static String modulePath() {
        return Stream.concat(
                        Stream.of(System.getProperty("jdk.module.path")),
                        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                                .filter(entry ->
                                        Path.of(entry).getFileName().toString().startsWith("log4j")))
                .collect(Collectors.joining(File.pathSeparator));
    }

    private String out() throws IOException {
        return Files.readString(folder.resolve("out"));
    }

    private String err() throws IOException {
        return Files.readString(folder.resolve("err"));
    }

    @Test
    void isInTheModuleOfItsName() {
        assertThat(Main.class.getModule().getName()).isEqualTo("java.allocator.cli");
    }

    @Test
    void replaysWithoutArgumentsAndShowsNoProgressWithoutATerminal() throws Exception {
        final Process process = start(List.of());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(err()).isEmpty();
        assertThat(out())
                .startsWith("gpt2.csv.gz, 157,934 events on ")
                .containsPattern("(?m)^compact holds \\d+ % less than best-fit: ")
                .containsPattern("arena.policy +compact +replay +compact");
        assertThat(process.exitValue()).isZero();
    }

    /** The level was set after the first logger had read it: nothing was logged. */
    @Test
    void verboseLogsWhatTheRuntimeDoes() throws Exception {
        final Process process = start(List.of(), "replay", "--once", "--verbose", "bert");
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(err())
                .contains("debug: registered cpu-reference with 1 devices", "debug: shrink of ")
                .doesNotContain("extended");
        assertThat(process.exitValue()).isZero();
    }

    @Test
    void showsProgressOnATerminalAndColoursWhatStandsOut() throws Exception {
        final Process process =
                start(List.of("-Dallocator.terminal=out,err", "-Dstderr.encoding=US-ASCII"), "replay", "bert");
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(err()).contains("\r", "#", "bert.csv.gz: ").endsWith("\r\u001b[K");
        assertThat(process.exitValue()).isZero();
    }

    /** Kills the process at several moments of its work; there is never a file, neither whole nor in part. */
    @Test
    void killedInTheMidstOfItsWorkItLeavesTheOldFile() throws Exception {
        final Path results = Files.createDirectory(folder.resolve("results"));
        final Path json = Files.writeString(results.resolve("out.json"), "before");
        for (final int millis : List.of(300, 900, 1500)) {
            final Process process =
                    start(List.of(), "replay", "gpt2", "bert", "frcnn", "llama_train", "--json", json.toString());
            assertThat(process.waitFor(millis, TimeUnit.MILLISECONDS)).isFalse();
            process.destroyForcibly().waitFor();
            assertThat(process.exitValue()).isNotZero();
            assertThat(json).hasContent("before");
            try (Stream<Path> files = Files.list(results)) {
                assertThat(files).containsExactly(json);
            }
        }
    }

    @Test
    void warnsInOneLineAboutABrokenProvider() throws Exception {
        final Path providers = Files.createDirectory(folder.resolve("providers"));
        Files.write(providers.resolve("broken.jar"), "no jar".getBytes(StandardCharsets.UTF_8));
        final Process process = start(List.of(), "replay", "--once", "resnet", "--providers-dir", providers.toString());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).isZero();
        assertThat(err()).contains("broken.jar").hasLineCount(1);
        assertThat(out()).startsWith("resnet.csv.gz, 3,966 events");
    }

    /** The log does not go through the command's own writer. */
    @Test
    void escapesNothingIntoATerminalFromTheLog() throws Exception {
        final Path providers = Files.createDirectory(folder.resolve("providers"));
        Files.writeString(providers.resolve("x\u001b[2J\u009b2Jy.jar"), "no jar");
        final Process process = start(
                List.of("-Dstderr.encoding=UTF-8"),
                "replay",
                "--once",
                "resnet",
                "--providers-dir",
                providers.toString());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(err()).contains("y.jar").doesNotContain("\u001b", "\u009b").hasLineCount(1);
    }

    /** What a full disk or a lost connection does to standard output. */
    @Nested
    @EnabledOnOs(OS.LINUX)
    class FullDisks {
        @Test
        void lostOutputExitsWithOneAndOneLine() throws Exception {
            requireOneLine("replay --provider cpu-reference --once resnet --json -");
        }

        @ParameterizedTest
        @Tag("thorough")
        @ValueSource(strings = {"providers --json -", "conformance --provider cpu-reference --quick --rules M-02"})
        void lostOutputOfOtherCommandsExitsWithOneAndOneLineToo(String arguments) throws Exception {
            requireOneLine(arguments);
        }

        private void requireOneLine(String arguments) throws Exception {
            final Process process = start(List.of(), List.of(), Path.of("/dev/full"), arguments.split(" "));
            assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
            assertThat(err()).isEqualTo("allocator: standard output cannot be written: No space left on device\n");
            assertThat(process.exitValue()).isEqualTo(1);
        }

        /** The exit code is that of the pipe's reader; what counts is that Java says nothing. */
        @Test
        void aReaderThatHasReadEnoughIsNoFailure() throws Exception {
            final Process process = start(
                    List.of("sh", "-c", "\"$@\" | true", "sh"),
                    List.of(),
                    folder.resolve("out"),
                    "trace",
                    "info",
                    "bert");
            assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
            assertThat(err()).isEmpty();
        }

        /** A limit on the size of files takes the part of a disk that fills up; a block is 512 bytes or 1,024. */
        private Process startWithFilesOf(int blocks, String... arguments) throws IOException {
            return start(
                    List.of("sh", "-c", "ulimit -f " + blocks + "; exec \"$@\"", "sh"),
                    List.of(),
                    folder.resolve("out"),
                    arguments);
        }

        @Test
        void areFoundBeforeTheWork() throws Exception {
            final Path results = Files.createDirectory(folder.resolve("results"));
            final Process process = startWithFilesOf(
                    2, "providers", "--json", results.resolve("out.json").toString());
            assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
            assertThat(err()).startsWith("allocator: --json ").hasLineCount(1);
            assertThat(out()).isEmpty();
            assertThat(process.exitValue()).isEqualTo(1);
            assertThat(results).isEmptyDirectory();
        }

        @Test
        @Tag("thorough")
        void leaveNoHalfReport() throws Exception {
            final Path results = Files.createDirectory(folder.resolve("results"));
            final Process process = startWithFilesOf(
                    9,
                    "conformance",
                    "--provider",
                    "cpu-reference",
                    "--quick",
                    "--rules",
                    "M-*",
                    "--report",
                    results.toString());
            assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
            assertThat(err())
                    .startsWith("allocator: no report can be written to " + results + ": ")
                    .hasLineCount(1);
            assertThat(process.exitValue()).isEqualTo(1);
            assertThat(results).isEmptyDirectory();
        }
    }

    @Test
    void aJavaHeapThatEndsIsOneLine() throws Exception {
        final Path trace = folder.resolve("large.csv");
        try (BufferedWriter out = Files.newBufferedWriter(trace)) {
            out.write("op,id,bytes,stream\n");
            for (int id = 0; id < 1_500_000; id++) {
                out.write("a," + id + ",1,0\n");
            }
        }
        final Process process = start(List.of("-Xmx24m"), "replay", "--once", trace.toString());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(err()).isEqualTo("allocator: the Java heap is too small (JDK_JAVA_OPTIONS=-Xmx8g makes it 8 GiB)\n");
        assertThat(process.exitValue()).isEqualTo(1);
    }
}
