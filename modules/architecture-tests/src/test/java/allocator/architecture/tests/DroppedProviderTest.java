package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Jars of providers that call native code, dropped into a folder: each command works with each of them, as the launcher
 * starts it. One is a module; the other is a jar for the class path, of level 18, which has no statistics.
 */
class DroppedProviderTest {
    private static final Path DISTRIBUTION = ReactorModule.ROOT.resolve("modules/cli/target/distribution");

    @TempDir
    private static Path folder;

    private static Path dropped;

    @BeforeAll
    static void makeJars() throws IOException {
        dropped = Files.createDirectory(folder.resolve("dropped"));
        SampleJar.make(
                "malloc",
                true,
                UnaryOperator.identity(),
                DISTRIBUTION.resolve("lib").toString(),
                folder.resolve("malloc"),
                dropped.resolve("malloc.jar"));
        SampleJar.make(
                "malloc",
                false,
                text -> text.replace("com.example.malloc", "com.example.old")
                        .replace("\"malloc\"", "\"old\"")
                        .replace("LEVEL = 25", "LEVEL = 18")
                        .replace("bind(\"old\"", "bind(\"malloc\""),
                jars(),
                folder.resolve("old"),
                dropped.resolve("old-1.0.jar"));
    }

    /** Jar by jar: only the launcher of the compiler expands wildcards. */
    private static String jars() throws IOException {
        try (Stream<Path> files = Files.list(DISTRIBUTION.resolve("lib"))) {
            return files.map(Path::toString).collect(Collectors.joining(System.getProperty("path.separator")));
        }
    }

    /** Runs the command as the launcher does, and returns what it printed. */
    private static String allocator(String... arguments) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + DISTRIBUTION.resolve("java.args"),
                "--module-path",
                DISTRIBUTION.resolve("lib").toString(),
                "--module",
                "java.allocator.cli/allocator.cli.Main"));
        command.addAll(List.of(arguments));
        command.addAll(List.of("--providers-dir", dropped.toString()));
        final Process process =
                new ProcessBuilder(command).redirectErrorStream(true).start();
        final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).as(output).isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        return output;
    }

    @Test
    void providersAreListed() throws Exception {
        assertThat(allocator("providers"))
                .contains("malloc 1.0 by Example Inc.", "module com.example.malloc", "old 1.0 by Example Inc.");
    }

    @ParameterizedTest
    @CsvSource({"malloc, largest block", "old, not counted"})
    void aTraceIsReplayed(String provider, String shown) throws Exception {
        assertThat(allocator("replay", "--once", "--provider", provider, "bert"))
                .contains("through " + provider, "none failed", shown)
                .doesNotContain(provider.equals("old") ? " 0 B" : "not counted");
    }

    @Test
    void whatIsNotCountedIsNullInJson() throws Exception {
        assertThat(allocator("replay", "--once", "--provider", "old", "--json", "-", "bert"))
                .contains("\"peak_requested_bytes\" : 525715752", "\"peak_held_bytes\" : null")
                .contains("\"held_over_requested\" : null", "\"bytes_held_after_shrink\" : null");
    }

    @ParameterizedTest
    @CsvSource({"malloc", "old"})
    void theRulesAreProved(String provider) throws Exception {
        assertThat(allocator("conformance", "--quick", "--rules", "F-0?,A-0?", "--provider", provider))
                .contains(provider + " 1.0: CONFORMS");
    }
}
