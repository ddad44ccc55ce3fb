package allocator.architecture.tests;

import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code docs/sources.md} has every item of the source documents, and names only classes and tests that exist. */
class SourcesPageTest {
    /** The items of the five source documents, 133, and of the brief, 16. */
    private static final int ITEMS = 149;

    private static final Pattern ROW = Pattern.compile("(?m)^\\| (\\d+) \\| (.+) \\| (.+) \\| (.+) \\|$");
    private static final Pattern HEADING_OR_ROW = Pattern.compile("(?m)^## (.+)$|^\\| \\d+ \\|");
    private static final Pattern SUM = Pattern.compile("(?m)^\\| \\[(.+)]\\(#.+\\) \\| (\\d+) \\|$");
    private static final Pattern NAME = Pattern.compile("`([A-Z]\\w*)(?:([.#])(\\w+))?`");
    private static final Pattern LINK = Pattern.compile("]\\(([^)#]+)(?:#[^)]*)?\\)");

    /** What the last cell of a row has: a test, or a reason. */
    private static final Pattern PROOF = Pattern.compile("`\\w+#\\w+`|\\*\\*(?:Differs:|Measured:|Not yet:)\\*\\*");

    private static final Pattern TEST = Pattern.compile("@(?:ConformanceTest|ParameterizedTest|Property|Test)\\b");

    private final String page = read(ReactorModule.ROOT.resolve("docs/sources.md"));
    private final Map<String, List<Path>> sources = ReactorModule.all().stream()
            .map(module -> module.path().resolve("src"))
            .flatMap(SourcesPageTest::javaFiles)
            .collect(groupingBy(file -> file.getFileName().toString().replace(".java", "")));

    @Test
    void everyItemHasARowWithAProofOrAReason() {
        final List<MatchResult> rows = ROW.matcher(page).results().toList();
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
        for (final MatchResult found : HEADING_OR_ROW.matcher(page).results().toList()) {
            if (found.group(1) == null) {
                rows.merge(heading, 1, Integer::sum);
            } else {
                heading = found.group(1);
            }
        }
        final Map<String, Integer> sums = new LinkedHashMap<>();
        SUM.matcher(page).results().forEach(sum -> sums.put(sum.group(1), Integer.valueOf(sum.group(2))));
        assertThat(sums).containsExactlyEntriesOf(rows);
    }

    @Test
    void theClassesMembersAndTestsExist() {
        assertThat(NAME.matcher(page).results())
                .filteredOn(name -> !exists(name.group(1), name.group(2), name.group(3)))
                .extracting(MatchResult::group)
                .isEmpty();
    }

    @Test
    void theFilesOfItsLinksExist() {
        assertThat(LINK.matcher(page).results())
                .extracting(link -> link.group(1))
                .filteredOn(target -> Files.notExists(ReactorModule.ROOT.resolve("docs", target)))
                .isEmpty();
    }

    private boolean exists(String type, String separator, String member) {
        final Stream<String> texts =
                sources.getOrDefault(type, List.of()).stream().map(SourcesPageTest::read);
        if (separator == null) {
            return texts.findAny().isPresent();
        }
        return texts.anyMatch(text -> separator.equals("#") ? hasTest(text, member) : hasMember(text, member));
    }

    /** A test has its annotation behind the empty line that divides it from the member before. */
    private static boolean hasTest(String text, String method) {
        final int declared = text.indexOf(" void " + method + "(");
        return declared >= 0
                && TEST.matcher(text.substring(text.lastIndexOf("\n\n", declared) + 1, declared))
                        .find();
    }

    private static boolean hasMember(String text, String member) {
        return Pattern.compile("(?m)\\b(?:class|enum|interface|record) " + member + "\\b"
                        + "|^ +(?!return )[\\w@][\\w<>\\[\\]?,.@ ]* " + member + "(?:\\(| = )")
                .matcher(text)
                .find();
    }

    private static Stream<Path> javaFiles(Path folder) {
        try (Stream<Path> files = Files.exists(folder) ? Files.walk(folder) : Stream.empty()) {
            return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
