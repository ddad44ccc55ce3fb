package allocator.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bundle that this build has made. */
class BundleTest {
    static final String GROUP = "io.github.javaallocator";
    static final String VERSION = System.getProperty("release.version");
    static final Path BUNDLE = Path.of(System.getProperty("release.bundle"));

    private static final String BOM = "java-allocator-bom";

    @TempDir
    private static Path repository;

    private static PortalRules rules;

    @BeforeAll
    static void unpack() throws Exception {
        Zip.unpack(BUNDLE, repository);
        rules = new PortalRules(repository, GROUP, VERSION, Signatures.key(System.getenv("MAVEN_GPG_KEY")));
    }

    @Test
    void thePortalAcceptsIt() throws Exception {
        assertThat(rules.violations()).isEmpty();
    }

    @Test
    void itHasWhatItsBillOfMaterialsLists() throws Exception {
        final Set<String> expected =
                new TreeSet<>(PublishedPom.of(rules.file(BOM, ".pom")).managed(GROUP));
        expected.add(BOM + ":" + VERSION);
        assertThat(rules.artifacts()).isEqualTo(expected).hasSizeGreaterThan(20);
    }
}
