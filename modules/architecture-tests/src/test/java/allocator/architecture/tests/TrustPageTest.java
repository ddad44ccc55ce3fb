package allocator.architecture.tests;

import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** {@code docs/trust.md} has each claim of the model with its faults, and names only tests and files that exist. */
class TrustPageTest {
    private static final Path MODEL = ReactorModule.ROOT.resolve("modules/simulation/src/test/model/allocator.pml");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([A-Z]+)` \\|[^|]+\\| ([^|]+) \\|");
    private static final Pattern FAULT = Pattern.compile("(?m)^#define (\\w+) \\d+ +/\\* ([A-Z]+): ");

    private final CitingPage page = new CitingPage("docs/trust.md");

    @Test
    void eachClaimHasTheFaultsOfTheModel() throws IOException {
        final Set<String> ofModel = FAULT.matcher(Files.readString(MODEL))
                .results()
                .map(fault -> fault.group(2) + ": `" + fault.group(1) + "`")
                .collect(toCollection(TreeSet::new));
        final Set<String> ofPage = ROW.matcher(page.text())
                .results()
                .flatMap(row ->
                        Pattern.compile(", ").splitAsStream(row.group(2)).map(fault -> row.group(1) + ": " + fault))
                .collect(toCollection(TreeSet::new));
        assertThat(ofPage).isEqualTo(ofModel);
    }

    @Test
    void theTestsAndFilesExist() {
        assertThat(page.missingNames().stream().filter(name -> !name.matches("`[A-Z_]+`")))
                .isEmpty();
        assertThat(page.missingFiles()).isEmpty();
    }
}
