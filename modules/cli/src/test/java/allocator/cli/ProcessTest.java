package allocator.cli;

import static org.assertj.core.api.Assertions.assertThat;

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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command as a process of its own, on the module path of this test. */
class ProcessTest {
    @TempDir
    private Path folder;

    private Process start(List<String> jvmArguments, String... arguments) throws IOException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmArguments);
        command.add("--enable-native-access=java.allocator.cpu.reference");
        command.addAll(List.of("--module-path", modulePath()));
        command.addAll(List.of("--module", "java.allocator.cli/allocator.cli.Main"));
        command.addAll(Arrays.asList(arguments));
        return new ProcessBuilder(command)
                .redirectOutput(folder.resolve("out").toFile())
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
        assertThat(out()).startsWith("gpt2.csv.gz, 157,934 events on ");
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
}
