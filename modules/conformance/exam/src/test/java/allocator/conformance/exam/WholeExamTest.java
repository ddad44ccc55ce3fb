package allocator.conformance.exam;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The whole exam, which runs with the profile {@code exam} only, and writes {@code target/exam.md}. It goes on where a
 * run before it ended. System properties, which {@code docs/exam.md} describes, choose edits and limit the time.
 */
@Tag("whole-exam")
class WholeExamTest {
    private static final String FILES = System.getProperty("allocator.exam.files", ".*");
    private static final Pattern EDITS = Pattern.compile(System.getProperty("allocator.exam.edits", ".*"));
    private static final boolean IS_QUICK = Boolean.getBoolean("allocator.exam.quick");
    private static final Duration TIME = Duration.ofMinutes(Integer.getInteger("allocator.exam.minutes", 24 * 60));
    private static final int JOBS =
            Integer.getInteger("allocator.exam.jobs", Runtime.getRuntime().availableProcessors());

    private static final Path RESULTS = Path.of("target/exam-results.txt");
    private static final Path PAGE = Path.of("target/exam.md");

    @Test
    void theKitFindsWrongProvidersAndNoOthers(@TempDir Path work) throws IOException, InterruptedException {
        final Predicate<Edit> selection = edit -> EDITS.matcher(edit.name()).matches();
        final List<ExamProvider> providers = ExamProvider.all(FILES);
        final long selected = providers.stream()
                .flatMap(provider -> provider.edits().stream())
                .filter(selection)
                .count();
        final ExamJournal journal = new ExamJournal(RESULTS, ProviderProcess.kit(), IS_QUICK ? "quick" : "full");
        final List<WholeExam.Result> results = new WholeExam(work, journal, IS_QUICK)
                .run(providers, selection, JOBS, TIME, result -> System.out.println(result.line()));
        Files.writeString(PAGE, WholeExam.page(results));
        assertThat(selected).as("edits of that name").isPositive();
        assertThat(results).as("results").allMatch(result -> result.problem().isEmpty());
        assertThat(results)
                .as("unusual providers conform")
                .filteredOn(result -> !result.edit().isWrong())
                .allMatch(result -> result.findings().isEmpty());
        assumeThat(results)
                .as("the edits that are done; the same command goes on with the others")
                .hasSize((int) selected);
        assertThat(results)
                .as("nine of ten wrong providers are found")
                .filteredOn(
                        result -> result.edit().isWrong() && result.findings().isEmpty())
                .hasSizeLessThanOrEqualTo(results.size() / 10);
    }
}
