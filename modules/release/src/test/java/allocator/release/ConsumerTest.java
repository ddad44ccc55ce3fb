package allocator.release;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.SampleProjects;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples, built and run with the bundle as the only place that has this project's artifacts. */
class ConsumerTest {
    private static final Path SAMPLES = Path.of("../../docs/samples");

    @Test
    void samplesRunWithTheBundle(@TempDir Path folder) throws Exception {
        final Path bundle = folder.resolve("bundle");
        Zip.unpack(BundleTest.BUNDLE, Files.createDirectory(bundle));
        final SampleProjects samples =
                SampleProjects.build(SAMPLES, folder, bundle, "-Dallocator.version=" + BundleTest.VERSION);
        for (final String name : SampleProjects.names(SAMPLES)) {
            assertThat(samples.run(name)).as(name).isNotBlank();
        }
        assertThat(samples.run("provider")).containsPattern("Tests run: [1-9]\\d+, Failures: 0, Errors: 0");
        assertThat(samples.run("first-use")).contains(samples.expected("first-use"));
    }
}
