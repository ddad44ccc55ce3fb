package allocator.architecture.tests;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** {@code docs/sources.md} has every item of the source documents, and names only classes and tests that exist. */
class SourcesPageTest {
    /** The items of the five source documents, 133, and of the brief, 16. */
    private static final int ITEMS = 149;

    private static final Pattern ROW = Pattern.compile("(?m)^\\| (\\d+) \\| (.+) \\| (.+) \\| (.+) \\|$");
    private static final Pattern HEADING_OR_ROW = Pattern.compile("(?m)^## (.+)$|^\\| \\d+ \\|");
    private static final Pattern SUM = Pattern.compile("(?m)^\\| \\[(.+)]\\(#.+\\) \\| (\\d+) \\|$");

    /** What the last cell of a row has: a test, or a reason. */
    private static final Pattern PROOF = Pattern.compile("`\\w+#\\w+`|\\*\\*(?:Differs:|Measured:|Not yet:)\\*\\*");

    private final CitingPage page = new CitingPage("docs/sources.md");

    @Test
    void everyItemHasARowWithAProofOrAReason() {
        final List<MatchResult> rows = ROW.matcher(page.text()).results().toList();
        assertThat(rows)
                .extracting(row -> Integer.valueOf(row.group(1)))
                .containsExactlyElementsOf(
                        IntStream.rangeClosed(1, ITEMS).boxed().toList());
        assertThat(rows)
                .filteredOn(row -> !PROOF.matcher(row.group(4)).find())
                .extracting(MatchResult::group)
                .isEmpty();
    }

    @Test
    void theSumsAreTrue() {
        final Map<String, Integer> rows = new LinkedHashMap<>();
        String heading = "";
        for (final MatchResult found :
                HEADING_OR_ROW.matcher(page.text()).results().toList()) {
            if (found.group(1) == null) {
                rows.merge(heading, 1, Integer::sum);
            } else {
                heading = found.group(1);
            }
        }
        final Map<String, Integer> sums = new LinkedHashMap<>();
        SUM.matcher(page.text()).results().forEach(sum -> sums.put(sum.group(1), Integer.valueOf(sum.group(2))));
        assertThat(sums).containsExactlyEntriesOf(rows);
    }

    @Test
    void theClassesMembersTestsAndFilesExist() {
        assertThat(page.missingNames()).isEmpty();
        assertThat(page.missingFiles()).isEmpty();
    }
}
