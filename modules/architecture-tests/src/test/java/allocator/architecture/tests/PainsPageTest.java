package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** {@code docs/pains.md} names a test in each row of a pain that is ended, and only tests that exist. */
class PainsPageTest {
    private static final Pattern ROW =
            Pattern.compile("(?m)^\\| (?!complaint )[^|]+\\| [^|]+\\| [^|]+\\| ([^|]+) \\|$");
    private static final Pattern TEST = Pattern.compile("`\\w+#\\w+`");

    private final CitingPage page = new CitingPage("docs/pains.md");

    @Test
    void eachPainThatIsEndedNamesItsTest() {
        final List<String> tests =
                ROW.matcher(page.text()).results().map(row -> row.group(1)).toList();
        assertThat(tests)
                .hasSizeGreaterThanOrEqualTo(20)
                .allMatch(cell -> TEST.matcher(cell).find());
    }

    @Test
    void theTestsAndFilesExist() {
        assertThat(page.missingNames()).isEmpty();
        assertThat(page.missingFiles()).isEmpty();
    }
}
