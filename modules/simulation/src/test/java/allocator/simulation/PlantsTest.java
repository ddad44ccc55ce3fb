package allocator.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Planted faults are kept as patches, which code that moves on may leave behind. */
class PlantsTest {
    private static final Path MODULE = Path.of("").toAbsolutePath();
    private static final Path ROOT = MODULE.resolve("../..").normalize();
    private static final Path PLANTS = MODULE.resolve("plants");

    @Test
    void everyPatchApplies() throws IOException, InterruptedException {
        assumeTrue(Files.exists(ROOT.resolve(".git")), "the sources are not a checkout");
        final List<String> failures = new ArrayList<>();
        try (Stream<Path> files = Files.list(PLANTS)) {
            final List<Path> patches = files.filter(file -> file.toString().endsWith(".patch"))
                    .sorted()
                    .toList();
            assertThat(patches).hasSizeGreaterThan(30);
            for (final Path patch : patches) {
                final Process check = new ProcessBuilder("git", "apply", "--check", patch.toString())
                        .directory(ROOT.toFile())
                        .redirectErrorStream(true)
                        .start();
                final String output = new String(check.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (check.waitFor() != 0) {
                    failures.add(output);
                }
            }
        }
        assertThat(failures).isEmpty();
    }
}
