package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.pairs.Results.Cell;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReportTest {
    private final Results results = new Results();

    private void add(String subject, String workload, int threads, Metric metric, double... rounds) {
        for (int round = 0; round < rounds.length; round++) {
            results.add(round + 1, new Cell(subject, workload, threads), metric, rounds[round]);
        }
    }

    private String report() {
        return new Report(results, List.of("machine: this", "left out: nothing")).toString();
    }

    private void assertHas(String... lines) {
        final List<String> report = report().lines().toList();
        for (final String line : lines) {
            assertTrue(report.contains(line), () -> line + "\n is not in\n" + String.join("\n", report));
        }
    }

    @Test
    void oneThreadIsToldInProcessorTimeAndSeveralInTimeThatPassed() {
        add("arena", "large", 1, Metric.CPU_NS, 40, 41, 42);
        add("ort", "large", 1, Metric.CPU_NS, 160, 161, 210);
        add("arena", "large", 1, Metric.WALL_NS, 900, 900, 900);
        add("arena", "large", 2, Metric.WALL_NS, 50, 60, 70);
        add("ort", "large", 2, Metric.WALL_NS, 600, 720, 700);
        add("arena", "large", 2, Metric.MILLION_PAIRS_PER_S, 33);

        assertEquals(Metric.CPU_NS, Report.quoted(1));
        assertEquals(Metric.WALL_NS, Report.quoted(2));
        assertHas(
                "- machine: this",
                "| arena | 41.0 (40.0–42.0) |",
                "| ort | 161 (160–210) |",
                "| ort | 0.25 |",
                "| arena | 60.0 (50.0–70.0) |",
                "| ort | 0.083 |",
                "| arena | 33.0 |");
    }

    @Test
    void requirementsAreJudgedByWhatWasMeasured() {
        add("arena", "large", 1, Metric.CPU_NS, 40);
        add("ort", "large", 1, Metric.CPU_NS, 119);
        add("netty-pooled", "large", 1, Metric.CPU_NS, 400);
        add("arena", "bert", 1, Metric.CPU_NS, 30);
        add("ort", "bert", 1, Metric.CPU_NS, 90);
        add("arena", "large", 1, Metric.P999_NS, 2001);
        add("arena", "large", 1, Metric.EXTENSIONS, 0);

        assertHas(
                "| large: ort / arena | ≥ 3.00 | 2.98 | **no** |",
                "| bert: ort / arena | ≥ 3.00 | 3.00 | yes |",
                "| large: arena / netty-pooled | ≤ 0.15 | 0.10 | yes |",
                "| large: p99.9 in ns | ≤ 2,000 | 2,001 | **no** |");
        assertFalse(report().contains("arena / malloc"), "malloc was not measured");
    }

    @Test
    void whatTheArenaTakesOverMallocMayGrowAsTheLogarithmOfTheLiveBlocks() {
        add("arena", "scale-1000", 1, Metric.CPU_NS, 50);
        add("arena", "scale-10000", 1, Metric.CPU_NS, 132);
        add("arena", "scale-100000", 1, Metric.CPU_NS, 336);
        add("arena", "scale-1000000", 1, Metric.CPU_NS, 800);
        assertFalse(report().contains("live blocks /"), "malloc was not measured");
        add("malloc", "scale-1000", 1, Metric.CPU_NS, 10);
        add("malloc", "scale-10000", 1, Metric.CPU_NS, 20);
        add("malloc", "scale-100000", 1, Metric.CPU_NS, 40);
        add("malloc", "scale-1000000", 1, Metric.CPU_NS, 80);

        assertHas(
                "| 10,000 live blocks / 1,000: arena / malloc | ≤ 1.33 | 1.32 | yes |",
                "| 100,000 live blocks / 1,000: arena / malloc | ≤ 1.67 | 1.68 | **no** |",
                "| 1,000,000 live blocks / 1,000: arena / malloc | ≤ 2.00 | 2.00 | yes |");
    }

    @Test
    void theLongestOperationsOfArenasThatGrewAreNotJudged() {
        add("arena", "large", 1, Metric.P999_NS, 9000);
        add("arena", "large", 1, Metric.EXTENSIONS, 1);

        assertFalse(report().contains("p99.9 in ns"));
    }

    @Test
    void everySingleOperationColumnHasItsFigure() {
        add("arena", "small", 1, Metric.WALL_NS, 50);
        add("arena", "small", 1, Metric.CPU_NS, 49);
        add("arena", "small", 1, Metric.P50_NS, 60);
        add("arena", "small", 1, Metric.P99_NS, 70);
        add("arena", "small", 1, Metric.P999_NS, 80);
        add("arena", "small", 1, Metric.MAX_NS, 1000, 2000, 1500);
        add("arena", "small", 1, Metric.EXTENSIONS, 0, 2, 0);
        add("arena", "small", 1, Metric.HEAP_BYTES, 0);
        add("arena", "small", 1, Metric.HELD_OVER_LIVE, 1.5);

        assertHas("### small, one thread", "| arena | 50.0 | 49.0 | 60.0 | 70.0 | 80.0 | 2,000 | 2.00 | 0 | 1.50 |");
    }

    @Test
    void memoryAndScaleHaveTablesOfTheirOwn() {
        add("arena", "small", 1, Metric.RSS_OVER_LIVE, 1.25);
        add("arena", "small", 1, Metric.TABLE_BYTES, 40);
        add("arena", "small", 1, Metric.HEAP_BYTES_PER_BLOCK, 41);
        add("arena", "scale-1000", 1, Metric.CPU_NS, 50);
        add("arena", "scale-1000000", 1, Metric.CPU_NS, 150);

        assertHas(
                "| subject | small | B/block, own count | B/block, heap |",
                "| arena | 1.25 | 40.0 | 41.0 |",
                "| subject | 1,000 | 1,000,000 |",
                "| arena | 50.0 (50.0–50.0) | 150 (150–150) |");
    }
}
