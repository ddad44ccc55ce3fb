package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CellTest {
    @Test
    void thereIsOneForEachSubjectUnderEachWorkload() {
        assertEquals(
                List.of(
                        new Cell("arena", 1, "large"),
                        new Cell("arena", 1, "small"),
                        new Cell("arena", 2, "large"),
                        new Cell("arena", 2, "small")),
                Cell.of(List.of("arena", "arena:2", "arena:1"), List.of("large", "small")));
    }

    @Test
    void aSubjectIsWrittenAsItIsGiven() {
        assertEquals("arena", new Cell("arena", 1, "large").subjectText());
        assertEquals("arena:2", new Cell("arena", 2, "large").subjectText());
    }

    @ParameterizedTest
    @ValueSource(strings = {"arena:", "arena:0", "arena:-1", "arena:two", "arena:1:2", "arena:1000"})
    void wrongNumbersOfThreadsAreRejected(String subject) {
        final Exception e =
                assertThrows(IllegalArgumentException.class, () -> Cell.of(List.of(subject), List.of("large")));

        assertEquals("--subjects takes NAME or NAME:THREADS: " + subject, e.getMessage());
    }
}
