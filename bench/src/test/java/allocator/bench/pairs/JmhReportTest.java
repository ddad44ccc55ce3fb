package allocator.bench.pairs;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.bench.pairs.Results.Cell;
import allocator.bench.subject.SubjectType;
import java.util.List;
import org.junit.jupiter.api.Test;

class JmhReportTest {
    private final Results results = new Results();

    private void add(String subject, String workload, int threads, Metric metric, double... rounds) {
        for (int round = 0; round < rounds.length; round++) {
            results.add(round + 1, new Cell(subject, workload, threads), metric, rounds[round]);
        }
    }

    private void add(String subject, double harness, double jmh) {
        add(subject, "large", 1, Metric.CPU_NS, harness);
        add(subject, "large", 1, Metric.JMH_CPU_NS, jmh);
    }

    private List<String> report(SubjectType... subjects) {
        return new JmhReport(results, List.of(subjects), List.of("machine: this"))
                .toString()
                .lines()
                .toList();
    }

    @Test
    void aRatioIsThatToTheFirstSubjectAndTheDifferenceIsRelativeToTheHarness() {
        add("malloc", 50, 60);
        add("arena", 100, 126);
        add("ort", 200, 216);

        assertThat(report(SubjectType.MALLOC, SubjectType.ARENA, SubjectType.ORT))
                .containsSubsequence(
                        "- machine: this",
                        "| workload | threads | subject | harness | JMH |"
                                + " harness / malloc | JMH / harness | difference |",
                        "| large | 1 | malloc | 50.0 (50.0–50.0) | 60.0 (60.0–60.0) | 1.00 | 1.20 |  |",
                        "| large | 1 | arena | 100 (100–100) | 126 (126–126) | 2.00 | 1.26 | +5.0 % |",
                        "| large | 1 | ort | 200 (200–200) | 216 (216–216) | 4.00 | 1.08 | -10.0 % |",
                        "2 of 2 ratios agree within 10 %.");
    }

    @Test
    void whatDoesNotAgreeIsNamed() {
        add("arena", 100, 100);
        add("ort", 200, 221);
        add("malloc", 200, 178);
        add("netty-pooled", 200, 219);

        assertThat(report(SubjectType.ARENA, SubjectType.ORT, SubjectType.MALLOC, SubjectType.NETTY_POOLED))
                .endsWith("1 of 3 ratios agree within 10 %. These do not: ort under large with 1 thread (+10.5 %),"
                        + " malloc under large with 1 thread (-11.0 %).");
    }

    @Test
    void oneThreadIsComparedByItsProcessorTimeAndSeveralByTimeThatPassed() {
        add("arena", "small", 2, Metric.CPU_NS, 1);
        add("ort", "small", 2, Metric.CPU_NS, 9);
        add("arena", "small", 2, Metric.WALL_NS, 10);
        add("ort", "small", 2, Metric.WALL_NS, 20);
        add("arena", "small", 2, Metric.JMH_CPU_NS, 1);
        add("ort", "small", 2, Metric.JMH_CPU_NS, 9);
        add("arena", "small", 2, Metric.JMH_WALL_NS, 10);
        add("ort", "small", 2, Metric.JMH_WALL_NS, 21);
        add("arena", 10, 10);
        add("ort", 30, 30);
        add("arena", "large", 1, Metric.WALL_NS, 10);
        add("ort", "large", 1, Metric.WALL_NS, 99);

        assertThat(report(SubjectType.ARENA, SubjectType.ORT))
                .containsSubsequence(
                        "| large | 1 | ort | 30.0 (30.0–30.0) | 30.0 (30.0–30.0) | 3.00 | 1.00 | +0.0 % |",
                        "| small | 2 | ort | 20.0 (20.0–20.0) | 21.0 (21.0–21.0) | 2.00 | 1.05 | +5.0 % |",
                        "2 of 2 ratios agree within 10 %.");
    }

    /** Two JVMs differ by more than the two tools do. */
    @Test
    void theTwoAreComparedWithinEachJvm() {
        add("arena", "large", 1, Metric.CPU_NS, 10, 100, 20);
        add("arena", "large", 1, Metric.JMH_CPU_NS, 11, 110, 22);
        add("ort", "large", 1, Metric.CPU_NS, 90, 60, 20);
        add("ort", "large", 1, Metric.JMH_CPU_NS, 108, 72, 24);

        assertThat(report(SubjectType.ARENA, SubjectType.ORT))
                .contains("| large | 1 | ort | 60.0 (20.0–90.0) | 72.0 (24.0–108) | 1.00 | 1.20 | +9.1 % |");
    }

    @Test
    void aSubjectThatOneOfTheTwoDidNotMeasureIsNamedAndDoesNotCount() {
        add("arena", 10, 10);
        add("ort", 30, 30);
        add("malloc", "large", 1, Metric.CPU_NS, 5);

        assertThat(report(SubjectType.ARENA, SubjectType.ORT, SubjectType.MALLOC))
                .contains("| large | 1 | malloc | 5.00 (5.00–5.00) |  | 0.50 |  |  |")
                .endsWith(
                        "1 of 1 ratios agree within 10 %. Without a ratio by both: malloc under large with 1 thread.");
    }

    @Test
    void nothingAgreesWithoutTheFirstSubject() {
        add("ort", 30, 30);

        assertThat(report(SubjectType.ARENA, SubjectType.ORT))
                .endsWith("0 of 0 ratios agree within 10 %. Without a ratio by both: ort under large with 1 thread.");
    }
}
