package allocator.conformance.exam;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.exam.WholeExam.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a whole exam has found is there when it goes on, unless something has changed since. */
class ExamJournalTest {
    private static final Edit EDIT =
            new Edit("slab", "rounds-down", true, List.of("A-03"), "why", List.of(new Edit.Change("A.java", "x", "y")));

    private static final ExamProvider PROVIDER = new ExamProvider("slab", Map.of("A.java", "x"), List.of(EDIT));

    @TempDir
    private Path folder;

    private ExamJournal journal(String way) throws IOException {
        final Path jar = folder.resolve("kit.jar");
        if (!Files.exists(jar)) {
            Files.writeString(jar, "kit");
        }
        return new ExamJournal(folder.resolve("results.txt"), List.of(jar), way);
    }

    @Test
    void aResultIsRead() throws IOException {
        final Result result = new Result(
                EDIT, "quick", List.of(new Finding("A-03", "one", "says"), new Finding("A-04", "two", "")), "");
        assertThat(journal("quick").find(PROVIDER, EDIT)).isEmpty();
        journal("quick").add(PROVIDER, result);
        assertThat(journal("quick").find(PROVIDER, EDIT)).contains(result);
    }

    @Test
    void theLastResultOfAnEditCounts() throws IOException {
        journal("quick").add(PROVIDER, new Result(EDIT, "quick", List.of(), ""));
        journal("quick").add(PROVIDER, new Result(EDIT, "", List.of(), "a\tproblem\nof two lines"));
        assertThat(journal("quick").find(PROVIDER, EDIT))
                .contains(new Result(EDIT, "", List.of(), "a problem of two lines"));
    }

    @Test
    void aResultOfAnotherKitOrEditOrWayDoesNotCount() throws IOException {
        journal("quick").add(PROVIDER, new Result(EDIT, "quick", List.of(), ""));
        assertThat(journal("full").find(PROVIDER, EDIT)).isEmpty();
        assertThat(journal("quick").find(new ExamProvider("slab", Map.of("A.java", "xx"), List.of()), EDIT))
                .isEmpty();
        Files.writeString(folder.resolve("kit.jar"), "another kit");
        assertThat(journal("quick").find(PROVIDER, EDIT)).isEmpty();
    }
}
