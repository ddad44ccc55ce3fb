package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Jars of providers that call native code, dropped into a folder: each command works with each of them, as the launcher
 * starts it. One is a module; the other is a jar for the class path, of level 18, which has no statistics.
 */
class DroppedProviderTest {
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
                AllocatorCommand.JARS.toString(),
                folder.resolve("malloc"),
                dropped.resolve("malloc.jar"));
        SampleJar.make(
                "malloc",
                false,
                text -> text.replace("com.example.malloc", "com.example.old")
                        .replace("\"malloc\"", "\"old\"")
                        .replace("LEVEL = 25", "LEVEL = 18")
                        .replace("bind(\"old\"", "bind(\"malloc\""),
                AllocatorCommand.classPath(),
                folder.resolve("old"),
                dropped.resolve("old-1.0.jar"));
    }

    private static String allocator(String... arguments) throws IOException, InterruptedException {
        return AllocatorCommand.run(0, dropped, List.of(arguments));
    }

    @Test
    void providersAreListed() throws Exception {
        assertThat(allocator("providers"))
                .contains("malloc 1.0 by Example Inc.", "module com.example.malloc", "old 1.0 by Example Inc.");
    }

    @Test
    void aTraceIsReplayed() throws Exception {
        assertThat(allocator("replay", "--once", "--provider", "malloc", "bert"))
                .contains("through malloc", "none failed", "largest block")
                .doesNotContain("not counted");
    }

    @Test
    @Tag("thorough")
    void aTraceIsReplayedOnAProviderWithoutStatistics() throws Exception {
        assertThat(allocator("replay", "--once", "--provider", "old", "bert"))
                .contains("through old", "none failed", "not counted")
                .doesNotContain(" 0 B");
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
        assertThat(allocator("conformance", "--quick", "--rules", "F-0?,A-02", "--provider", provider))
                .contains(provider + " 1.0: CONFORMS");
    }
}
