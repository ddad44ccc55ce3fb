package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A script that is asked for help prints how it is used, and does nothing. */
class ScriptHelpTest {
    static Stream<Path> scripts() throws IOException {
        final Path bench = Path.of("../../bench");
        return Stream.concat(
                Stream.of(bench.resolve("side")),
                Stream.of("gpu", "rivals").flatMap(folder -> list(bench.resolve(folder))));
    }

    private static Stream<Path> list(Path folder) {
        final String[] names = folder.toFile().list((_, name) -> name.matches("(make|run|download)-\\w+"));
        return Stream.of(names).sorted().map(folder::resolve);
    }

    @ParameterizedTest
    @MethodSource("scripts")
    void helpPrintsTheUsageAndDoesNothing(Path script) throws Exception {
        // Checked first: without it the script would do its work here.
        assertThat(Files.readAllLines(script)).anyMatch(line -> line.startsWith("case ${1-} in -h | --help)"));
        final Process process = new ProcessBuilder(List.of(script.toString(), "--help"))
                .redirectErrorStream(true)
                .start();
        final String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(text).isZero();
        assertThat(text).contains(script.getFileName().toString()).doesNotContain("set -e");
    }
}
