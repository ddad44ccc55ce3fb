package allocator.architecture.tests;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is published is in the bill of materials, and in the module that makes the bundle of a release. */
class BomTest {
    private static final String BOM = "java-allocator-bom";
    private static final String RELEASE = "java-allocator-release";

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

    private static Set<String> published() {
        return ReactorModule.all().stream()
                .filter(ReactorModule::isPublished)
                .map(ReactorModule::artifactId)
                .filter(artifact -> !artifact.equals(BOM))
                .collect(toSet());
    }
}
