package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.SampleProjects;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The samples do what their READMEs say, built without a network by what this build has downloaded itself, and the
 * pages show them as they are.
 */
class SamplesTest {
    private static final Path DOCS = ReactorModule.ROOT.resolve("docs");
    private static final Path SAMPLES = DOCS.resolve("samples");
    private static final int MOST_LINES = 15;

    /** Times, and the number of the kit's tests. */
    private static final Pattern VARIABLE = Pattern.compile("[-0-9]{10} [:0-9]{8},\\d{3}|(?<=Tests run: )\\d{2,}");

    @TempDir
    private static Path folder;

    private static SampleProjects samples;

    @BeforeAll
    static void build() throws Exception {
        final Path repository = folder.resolve("staging");
        StagingRepository.write(repository, BomTest.lastVersion());
        samples = SampleProjects.build(
                SAMPLES,
                folder,
                repository,
                "-o",
                "-Daether.offline.protocols=file",
                "-Dallocator.conformance.quick=true");
    }

    static List<String> names() throws IOException {
        return SampleProjects.names(SAMPLES);
    }

    @ParameterizedTest
    @MethodSource("names")
    void aSamplePrintsWhatItsReadmeSays(String name) throws Exception {
        assertThat(normal(samples.run(name)))
                .containsSubsequence(normal(samples.expected(name)).lines().toList())
                .doesNotContain("restricted method", "terminally deprecated");
    }

    private static String normal(String output) {
        return VARIABLE.matcher(output).replaceAll("#");
    }

    @ParameterizedTest
    @MethodSource("names")
    void aSampleIsSmall(String name) throws IOException {
        assertThat(Files.readAllLines(SAMPLES.resolve(name).resolve("README.md")))
                .hasSizeLessThanOrEqualTo(MOST_LINES);
    }

    @Test
    void theListOfSamplesHasEach() throws IOException {
        assertThat(SAMPLES.resolve("README.md"))
                .content()
                .contains(
                        names().stream().map(name -> "(" + name + "/README.md)").toList());
    }

    /** A page's fenced text, and the file that it shows. */
    @ParameterizedTest
    @CsvSource({"first-use.md, first-use/pom.xml", "logging.md, logging/src/main/resources/logback.xml"})
    void aPageShowsTheFileOfASample(String page, String file) throws IOException {
        assertThat(DOCS.resolve(page)).content().contains("```xml\n" + Files.readString(SAMPLES.resolve(file)) + "```");
    }

    @ParameterizedTest
    @CsvSource({"first-use.md, first-use"})
    void aPageShowsWhatASamplePrints(String page, String name) throws IOException {
        assertThat(DOCS.resolve(page)).content().contains("```\n" + samples.expected(name) + "```");
    }
}
