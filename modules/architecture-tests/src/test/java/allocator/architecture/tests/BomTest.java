package allocator.architecture.tests;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is published is in the bill of materials, and in the module that makes the bundle of a release. */
class BomTest {
    private static final String BOM = "java-allocator-bom";
    private static final String RELEASE = "java-allocator-release";

    /** A dependency on a page, with its version if it has one. */
    private static final Pattern DEPENDENCY = Pattern.compile("<groupId>io\\.github\\.javaallocator</groupId>\\s*"
            + "<artifactId>(?<artifact>.*)</artifactId>\\s*(<version>(?<version>.*)</version>)?");

    /** What a page says before the first release. */
    private static final Pattern UNRELEASED =
            Pattern.compile("0\\.1\\.0 is (prepared|not)|[Nn]othing (is|has been) released");

    @Test
    void theBillOfMaterialsListsWhatIsPublished() {
        assertThat(new ReactorModule("modules/bom").dependencies()).isEqualTo(published());
    }

    /** So that Maven builds every published module before it makes the bundle. */
    @Test
    void theReleaseDependsOnWhatIsPublished() {
        assertThat(new ReactorModule("modules/release").dependencies())
                .contains(BOM)
                .containsAll(published());
    }

    @Test
    void nothingPublishedDependsOnWhatIsNot() {
        final Set<String> published = published();
        final Set<String> unpublished = ReactorModule.all().stream()
                .map(ReactorModule::artifactId)
                .filter(artifact -> !published.contains(artifact))
                .collect(toSet());
        assertThat(unpublished).contains(RELEASE, "java-allocator-testkit");
        assertThat(ReactorModule.all())
                .filteredOn(ReactorModule::isPublished)
                .allSatisfy(
                        module -> assertThat(module.shippedDependencies()).doesNotContainAnyElementsOf(unpublished));
    }

    /** The last release; before there is one, the first. */
    static String lastVersion() {
        final String last = ReactorModule.property("api.baseline");
        return last.equals("none") ? new ReactorModule("modules/bom").version().replace("-SNAPSHOT", "") : last;
    }

    @Test
    void pagesAndSamplesNamePublishedArtifactsInTheLastVersion() throws IOException {
        final String version = lastVersion();
        int found = 0;
        try (Stream<Path> pages = Files.walk(ReactorModule.ROOT.resolve("docs"))) {
            for (final Path page : pages.filter(file -> file.toString().matches(".*\\.md|.*pom\\.xml"))
                    .toList()) {
                final String text = Files.readString(page);
                final String property = version(text).orElse(version);
                assertThat(property).as("version of %s", page).isEqualTo(version);
                final Matcher dependency = DEPENDENCY.matcher(text);
                while (dependency.find()) {
                    found++;
                    final String artifact = dependency.group("artifact");
                    assertThat(published().contains(artifact) || artifact.equals(BOM))
                            .as("%s, which %s names, is published", artifact, page)
                            .isTrue();
                    assertThat(dependency.group("version"))
                            .as("%s on %s", artifact, page)
                            .isIn(null, version, "${allocator.version}");
                }
            }
        }
        assertThat(found).as("dependencies on pages").isGreaterThanOrEqualTo(6);
    }

    private static Optional<String> version(String text) {
        return Pattern.compile("<allocator\\.version>(.*)</allocator\\.version>")
                .matcher(text)
                .results()
                .map(found -> found.group(1))
                .findFirst();
    }

    /** As long as there is no release the pages say so; {@code modules/release/make} looks for the same words. */
    @Test
    void pagesSayThatNothingIsReleasedUntilSomethingIs() throws IOException {
        final List<String> found = new ArrayList<>();
        try (Stream<Path> first = Files.list(ReactorModule.ROOT);
                Stream<Path> docs = Files.walk(ReactorModule.ROOT.resolve("docs"))) {
            for (final Path page : Stream.concat(first, docs)
                    .filter(file -> file.toString().endsWith(".md"))
                    .toList()) {
                if (UNRELEASED.matcher(Files.readString(page)).find()) {
                    found.add(ReactorModule.ROOT.relativize(page).toString());
                }
            }
        }
        if (Files.readAllLines(ReactorModule.ROOT.resolve("CHANGELOG.md")).stream()
                .noneMatch(line -> line.matches("## \\d.*"))) {
            assertThat(found).contains("CHANGELOG.md", "README.md", "SECURITY.md", "docs/first-use.md");
        } else {
            assertThat(found).as("pages of the time before the first release").isEmpty();
        }
    }

    @Test
    void makeLooksForTheSameWords() throws IOException {
        assertThat(ReactorModule.ROOT.resolve("modules/release/make")).content().contains("'" + UNRELEASED + "'");
    }

    private static Set<String> published() {
        return ReactorModule.all().stream()
                .filter(ReactorModule::isPublished)
                .map(ReactorModule::artifactId)
                .filter(artifact -> !artifact.equals(BOM))
                .collect(toSet());
    }
}
