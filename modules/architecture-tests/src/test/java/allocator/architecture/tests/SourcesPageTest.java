package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * {@code docs/sources.md} names a test for each behaviour that follows ONNX Runtime and for each difference from a
 * source, and names only classes and tests that exist.
 */
class SourcesPageTest {
    private static final Pattern TEST = Pattern.compile("`\\w+(?:Test|Rules)(?:#\\w+)?`[^|]* \\|$");

    private final CitingPage page = new CitingPage("docs/sources.md");

    @Test
    void eachBehaviourAndEachDifferenceNamesItsTest() {
        final String behaviours = page.text().substring(page.text().indexOf("\n## "));
        final List<String> rows = behaviours
                .lines()
                .filter(line ->
                        line.startsWith("| ") && !line.startsWith("| there ") && !line.startsWith("| behaviour "))
                .toList();
        assertThat(rows)
                .hasSizeGreaterThanOrEqualTo(20)
                .allMatch(row -> TEST.matcher(row).find());
    }

    @Test
    void theClassesMembersTestsAndFilesExist() {
        assertThat(page.missingNames()).isEmpty();
        assertThat(page.missingFiles()).isEmpty();
    }
}
