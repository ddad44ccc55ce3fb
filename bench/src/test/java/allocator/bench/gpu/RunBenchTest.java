package allocator.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code run-bench} of the GPU bundle, with a Java that notes its arguments and fails when they say so. */
class RunBenchTest {
    @TempDir
    private Path folder;

    private Path bundle;

    private static Path script() {
        Path parent = Path.of("").toAbsolutePath();
        while (Files.notExists(parent.resolve("bench/gpu/run-bench"))) {
            parent = parent.getParent();
        }
        return parent.resolve("bench/gpu/run-bench");
    }

    @BeforeEach
    void makeBundle() throws IOException {
        bundle = Files.createDirectory(folder.resolve("a bundle"));
        Files.createDirectories(bundle.resolve("runtime/bin"));
        Files.createDirectory(bundle.resolve("bench-lib"));
        Files.writeString(bundle.resolve("bench-lib/bench.jar"), "");
        Files.createDirectory(bundle.resolve("traces"));
        Files.writeString(bundle.resolve("traces/gpt2.csv.gz"), "");
        Files.writeString(bundle.resolve("commit"), "c0ffee\n");
        Files.copy(script(), bundle.resolve("run-bench"));
        final Path java = bundle.resolve("runtime/bin/java");
        Files.writeString(java, """
                #!/bin/sh
                echo "$*" >> calls
                case $* in *Table*) echo 'the table'; exit 0 ;; *bad*) echo 'no such device'; exit 1 ;; esac
                """);
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private record Outcome(int exitCode, String out, String err) {}

    private Outcome run(String... arguments) throws Exception {
        final List<String> command =
                new ArrayList<>(List.of("bash", bundle.resolve("run-bench").toString()));
        command.addAll(Arrays.asList(arguments));
        final ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile());
        builder.environment().put("RIVALS", "0");
        final Process process = builder.start();
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        return new Outcome(
                process.exitValue(), Files.readString(folder.resolve("out")), Files.readString(folder.resolve("err")));
    }

    private List<String> replays() throws IOException {
        return calls("ReplayBenchmark");
    }

    /** Returns the arguments of each call of a benchmark. */
    private List<String> calls(String benchmark) throws IOException {
        return Files.readAllLines(bundle.resolve("calls")).stream()
                .filter(call -> call.contains(benchmark))
                .map(call -> call.replaceFirst(".*" + benchmark + " ", "").replaceFirst(" /\\S*/traces/", " "))
                .toList();
    }

    @Test
    void runsTheTracesOfTheBundle() throws Exception {
        final Outcome outcome = run();
        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).contains("the table");
        assertThat(replays())
                .containsExactly(
                        "results/gpu-c0ffee.csv cuda-arena gpt2.csv",
                        "results/gpu-c0ffee.csv cuda-arena gpt2.csv slabs",
                        "results/gpu-c0ffee.csv cuda-arena gpt2.csv compact",
                        "results/gpu-c0ffee.csv cuda-mempool gpt2.csv");
        assertThat(calls("TwoThreadsBenchmark"))
                .containsExactly(
                        "results/gpu-c0ffee.csv cuda-arena gpt2.csv",
                        "results/gpu-c0ffee.csv cuda-arena gpt2.csv compact");
    }

    @Test
    void setsTheArenaOfOnnxRuntimeBesideOurs() throws Exception {
        assertThat(run("onnxruntime", "none").err())
                .isEqualTo("run-bench: none: not a folder with libonnxruntime.so\n");
        final Path libraries = Files.createDirectory(folder.resolve("the libraries"));
        Files.writeString(libraries.resolve("libonnxruntime.so"), "");
        assertThat(run("onnxruntime", "the libraries").err()).contains("made without --with-onnxruntime-cuda");
        Files.createDirectory(bundle.resolve("lib"));
        Files.writeString(bundle.resolve("lib/onnxruntime.jar"), "");
        final Outcome outcome = run("onnxruntime", "the libraries");
        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(replays())
                .containsExactly(
                        "--direct results/gpu-c0ffee-onnxruntime.csv onnxruntime-cuda gpt2.csv",
                        "--direct results/gpu-c0ffee-onnxruntime.csv empty-call gpt2.csv",
                        "--direct results/gpu-c0ffee-onnxruntime.csv cuda-arena gpt2.csv",
                        "--direct results/gpu-c0ffee-onnxruntime.csv cuda-mempool gpt2.csv",
                        "--direct results/gpu-c0ffee-onnxruntime.csv cuda-arena gpt2.csv compact");
        assertThat(calls("BudgetCost")).containsExactly("results/gpu-c0ffee-onnxruntime.csv cuda-arena");
        assertThat(bundle.resolve("calls"))
                .content()
                .contains("-Donnxruntime.native.path=" + libraries)
                .contains("OrtArenaTable")
                .doesNotContain("ThreadsBenchmark");
    }

    @Test
    void takesTracesOfTheUser() throws Exception {
        Files.writeString(folder.resolve("my trace, 1.2.csv"), "");
        final Outcome outcome = run("trace", "my trace, 1.2.csv");
        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(replays())
                .containsExactly(
                        "results/gpu-c0ffee-trace.csv cuda-arena my_trace__1_2.csv",
                        "results/gpu-c0ffee-trace.csv cuda-arena my_trace__1_2.csv slabs",
                        "results/gpu-c0ffee-trace.csv cuda-arena my_trace__1_2.csv compact",
                        "results/gpu-c0ffee-trace.csv cuda-mempool my_trace__1_2.csv");
        assertThat(bundle.resolve("calls")).content().doesNotContain("ThreadsBenchmark");
    }

    @Test
    void aFailedBenchmarkIsShownWithTheOthersAndExitsWithOne() throws Exception {
        Files.writeString(bundle.resolve("traces/bad.csv.gz"), "");
        final Outcome outcome = run();
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.out()).contains("failed: java allocator.bench.gpu.ReplayBenchmark", "the table");
        assertThat(outcome.err()).isEqualTo("run-bench: 6 failed\n");
    }

    @Test
    void aMissingTraceIsFoundBeforeTheWork() throws Exception {
        final Outcome outcome = run("trace", "none.csv");
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err())
                .contains("none.csv: no such file, or not readable")
                .hasLineCount(1);
        assertThat(bundle.resolve("calls")).doesNotExist();
    }

    @Test
    void theSubjectsOfTheHostAreMeasuredByRivals() throws Exception {
        final Outcome arena = run("arena", "--quick");
        assertThat(arena.exitCode()).as(arena.err()).isZero();
        assertThat(Files.readAllLines(bundle.resolve("calls")))
                .map(call -> call.replaceFirst(".* allocator\\.bench\\.pairs\\.", ""))
                .containsExactly("Rivals --results=results --commit=c0ffee --keep=arena-c0ffee --quick");
    }
}
