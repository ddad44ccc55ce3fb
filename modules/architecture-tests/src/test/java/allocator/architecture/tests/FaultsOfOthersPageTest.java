package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code docs/faults-of-others.md} has a row for each edit that makes another project's fault, with its test. */
class FaultsOfOthersPageTest {
    private static final Pattern ROW =
            Pattern.compile("(?m)^\\| \\[[^|]+\\(https://[^|]+ \\| [^|]+ \\| (O\\d\\d) \\| [^|]*`\\w+#\\w+`[^|]* \\|$");
    private static final Path PLANTS = ReactorModule.ROOT.resolve("modules/simulation/plants");

    private final CitingPage page = new CitingPage("docs/faults-of-others.md");

    @Test
    void eachEditHasARow() throws IOException {
        final List<String> rows =
                ROW.matcher(page.text()).results().map(row -> row.group(1)).toList();
        try (Stream<Path> patches = Files.list(PLANTS)) {
            assertThat(rows)
                    .hasSizeGreaterThanOrEqualTo(12)
                    .containsExactlyInAnyOrderElementsOf(
                            patches.map(patch -> patch.getFileName().toString())
                                    .filter(name -> name.matches("O\\d\\d\\.patch"))
                                    .map(name -> name.substring(0, 3))
                                    .toList());
        }
    }

    @Test
    void theTestsExist() {
        assertThat(page.missingNames()).isEmpty();
        assertThat(page.missingFiles()).isEmpty();
    }
}
