package allocator.bench.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.bench.pairs.Figures.Row;
import java.util.List;
import org.junit.jupiter.api.Test;

class FiguresTest {
    private static final Row ARENA = new Row("arena", "large", 1, Rivals.CPU_NS);
    private static final Row MALLOC = ARENA.of("malloc");

    private final Figures figures = new Figures();

    @Test
    void aFigureIsTheMedianOfTheRoundsMedians() {
        List.of(10.0, 30.0, 1000.0).forEach(value -> figures.add(1, ARENA, value));
        figures.add(2, ARENA, 20);
        figures.add(3, ARENA, 200);
        assertThat(figures.median(ARENA)).isEqualTo(30);
        assertThat(figures.text(ARENA)).isEqualTo("30.0 (20.0–200)");
        assertThat(figures.text(MALLOC)).isEmpty();
    }

    @Test
    void aRatioIsTakenWithinEachRound() {
        figures.add(1, ARENA, 10);
        figures.add(1, MALLOC, 20);
        figures.add(2, ARENA, 100);
        figures.add(2, MALLOC, 200);
        figures.add(3, MALLOC, 1);
        assertThat(figures.ratio(ARENA, MALLOC)).isEqualTo("0.50");
        assertThat(figures.ratio(ARENA, ARENA.of("ort"))).isEmpty();
    }

    @Test
    void theTableHasTheArenaOverEachSubject() {
        figures.add(1, ARENA, 10);
        figures.add(1, MALLOC, 20);
        assertThat(new RivalsTable(figures).toMarkdown()).isEqualTo("""

                ## One thread: ns per pair, processor time

                | subject | large |
                |---|---:|
                | arena | 10.0 |
                | malloc | 20.0 |

                The arena's over the subject's: below 1 the arena is faster.

                | subject | large |
                |---|---:|
                | arena | 1.00 |
                | malloc | 0.50 |
                """);
    }

    @Test
    void aCsvIsReadBack() {
        figures.add(2, ARENA, 1.25);
        figures.add(2, MALLOC, 3);
        assertThat(Figures.parse(figures.toCsv().lines().toList()).toCsv()).isEqualTo(figures.toCsv());
        assertThatThrownBy(() -> Figures.parse(List.of("a"))).hasMessageStartingWith("the first line is not round,");
        assertThatThrownBy(() -> Figures.parse(List.of("round,subject,workload,threads,metric,value", "1,arena")))
                .hasMessageEndingWith(": 1,arena");
    }
}
