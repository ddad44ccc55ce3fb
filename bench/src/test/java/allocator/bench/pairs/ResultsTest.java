package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.pairs.Results.Cell;
import java.util.List;
import org.junit.jupiter.api.Test;

class ResultsTest {
    private static final Cell ARENA = new Cell("arena", "large", 1);
    private static final Cell ORT = new Cell("ort", "large", 1);

    private final Results results = new Results();

    private void add(int round, Cell cell, double... values) {
        for (final double value : values) {
            results.add(round, cell, Metric.CPU_NS, value);
        }
    }

    @Test
    void aFigureIsTheMedianOfTheRoundsMediansAndItsSpreadIsTheirs() {
        add(1, ARENA, 10, 11, 90);
        add(2, ARENA, 20, 21, 22);
        add(3, ARENA, 5, 6, 7);

        assertEquals(11, results.median(ARENA, Metric.CPU_NS));
        assertEquals(6, results.low(ARENA, Metric.CPU_NS));
        assertEquals(21, results.high(ARENA, Metric.CPU_NS));
    }

    @Test
    void oneRoundHasTheSpreadOfItsSamples() {
        add(1, ARENA, 10, 11, 90);

        assertEquals(10, results.low(ARENA, Metric.CPU_NS));
        assertEquals(90, results.high(ARENA, Metric.CPU_NS));
    }

    @Test
    void aRatioComparesWhatRanInTheSameRound() {
        add(1, ARENA, 10);
        add(1, ORT, 30);
        add(2, ARENA, 100);
        add(2, ORT, 300);
        add(3, ARENA, 7);
        add(4, ORT, 7);

        assertEquals(3, results.ratio(ORT, ARENA, Metric.CPU_NS));
        assertEquals(Double.NaN, results.ratio(ORT, ARENA, Metric.WALL_NS));
    }

    @Test
    void whatWasNotMeasuredIsNoNumber() {
        assertFalse(results.has(ARENA, Metric.CPU_NS));
        assertEquals(Double.NaN, results.median(ARENA, Metric.CPU_NS));
        assertEquals(Double.NaN, results.low(ARENA, Metric.CPU_NS));
    }

    @Test
    void theCsvHoldsEverything() {
        add(1, ARENA, 10, 11.25);
        add(2, ORT, 0.5);

        final String csv = results.toCsv();
        final Results read = Results.parse(csv.lines().toList());

        assertEquals("""
                round,subject,workload,threads,metric,value
                1,arena,large,1,cpu_ns,10
                1,arena,large,1,cpu_ns,11.2500
                2,ort,large,1,cpu_ns,0.5000
                """, csv);
        assertEquals(csv, read.toCsv());
        assertEquals(List.of("arena", "ort"), read.subjects());
        assertTrue(read.has(ORT, Metric.CPU_NS));
    }

    @Test
    void anythingElseIsRefused() {
        final String header = "round,subject,workload,threads,metric,value";

        for (final List<String> lines : List.of(
                List.<String>of(),
                List.of("1,arena,large,1,cpu_ns,10"),
                List.of(header, "1,arena"),
                List.of(header, "1,arena,large,1,cpu_ns"),
                List.of(header, "1,arena,large,1,speed,10"),
                List.of(header, "1,arena,large,one,cpu_ns,10"))) {
            assertThrows(IllegalArgumentException.class, () -> Results.parse(lines), lines::toString);
        }
    }
}
