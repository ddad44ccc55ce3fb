package allocator.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** All jars on the class path, in a JVM of its own, as many applications have them. */
class ClassPathTest {
    private static final Path JARS = Shipped.ROOT.resolve("modules/cli/target/distribution/lib");

    /** Runs a class with all jars on the class path, and returns what it printed. */
    private static String run(int exitCode, String... arguments) throws IOException, InterruptedException {
        final List<String> options = new ArrayList<>(List.of(
                "--illegal-native-access=deny",
                "-cp",
                JARS.resolve("*") + System.getProperty("path.separator") + Path.of("target", "test-classes")));
        options.addAll(List.of(arguments));
        final Started started = Started.java(options);
        assertThat(started.code()).as(started.output()).isEqualTo(exitCode);
        return started.output();
    }

    @Test
    void providersAreFoundAndServe() throws Exception {
        final String output = run(0, "--enable-native-access=ALL-UNNAMED", ClassPathProgram.class.getName());
        assertThat(output)
                .contains("cpu-reference of class path: 1 devices")
                .contains("cuda-arena of class path: ")
                .contains("cuda-mempool of class path: ")
                .doesNotContain("failed")
                .contains("module null")
                .contains("1.5, then 0 live blocks");
    }

    @Test
    void onlyWhatIsAllowedIsLoadedAndAMissingDirectoryIsNamedAsMissing() throws Exception {
        final String output = run(
                0,
                "--enable-native-access=ALL-UNNAMED",
                "-Dfolder=missing-folder",
                ClassPathProgram.class.getName(),
                "allocator.cpu.reference.CpuReferenceFactory");
        assertThat(output)
                .contains("cpu-reference of class path: 1 devices")
                .contains("allocator.cuda.arena.CudaArenaFactory failed: allocator.cuda.arena.CudaArenaFactory, of no"
                        + " module, is not on the allow-list")
                .contains("missing-folder failed: the path does not exist")
                .doesNotContain("is not searched");
    }

    @Test
    void withoutNativeAccessTheFlagIsNamed() throws Exception {
        assertThat(run(0, "allocator.cli.Main", "providers"))
                .containsPattern(
                        "cuda-arena [^\\n]*\\n  no device\\n  note: native access is not enabled: start java with"
                                + "\\s+--enable-native-access=ALL-UNNAMED");
        assertThat(run(1, "allocator.cli.Main", "--once", "bert")).contains("Illegal native access");
    }

    @ParameterizedTest
    @CsvSource({
        "'providers', 'cpu-reference 0.1.0'",
        "'--version', 'allocator 0.1.0'",
        "'replay --once bert', 'none failed'",
        "'conformance --provider cpu-reference --quick --rules A-02', 'CONFORMS'"
    })
    void theCommandWorks(String arguments, String shown) throws Exception {
        final List<String> command =
                new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "allocator.cli.Main"));
        command.addAll(List.of(arguments.split(" ")));
        assertThat(run(0, command.toArray(String[]::new))).contains(shown);
    }

    @Test
    void aDirectoryOfProvidersIsRefusedWithTheWayOut() throws Exception {
        final String output =
                run(0, "--enable-native-access=ALL-UNNAMED", "allocator.cli.Main", "providers", "--providers-dir", ".");
        assertThat(output.replaceAll("\\s+", " ")).contains("or those of the provider on the class path");
    }
}
