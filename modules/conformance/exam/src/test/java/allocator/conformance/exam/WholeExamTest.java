package allocator.conformance.exam;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The whole exam, which runs with the profile {@code exam} only, and writes {@code target/exam.md}. */
@Tag("whole-exam")
class WholeExamTest {
    @Test
    void theKitFindsWrongProvidersAndNoOthers(@TempDir Path work) throws IOException, InterruptedException {
        final List<WholeExam.Result> results =
                new WholeExam(work).run(_ -> true, Runtime.getRuntime().availableProcessors(), result -> {});
        Files.writeString(Path.of("target/exam.md"), WholeExam.page(results));
        assertThat(results)
                .as("results")
                .isNotEmpty()
                .allMatch(result -> result.problem().isEmpty());
        assertThat(results)
                .as("unusual providers conform")
                .filteredOn(result -> !result.edit().isWrong())
                .allMatch(result -> result.findings().isEmpty());
        assertThat(results)
                .as("nine of ten wrong providers are found")
                .filteredOn(
                        result -> result.edit().isWrong() && result.findings().isEmpty())
                .hasSizeLessThanOrEqualTo(results.size() / 10);
    }
}
