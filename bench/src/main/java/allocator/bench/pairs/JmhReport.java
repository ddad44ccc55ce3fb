package allocator.bench.pairs;

import allocator.bench.pairs.Results.Cell;
import allocator.bench.sampling.Ratio;
import allocator.bench.subject.SubjectType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The figures of the harness beside JMH's as a page of Markdown: of each subject the ratio to the first one, by either,
 * and how far JMH's ratio is from the harness's.
 */
final class JmhReport {
    /** How far two ratios that agree may be apart. */
    static final double TOLERANCE_PERCENT = 10;

    private final Results results;
    private final List<String> subjects;
    private final List<String> facts;

    /** A report; the ratios are those to the first of the subjects. */
    JmhReport(Results results, List<SubjectType> subjects, List<String> facts) {
        this.results = results;
        this.subjects = subjects.stream().map(SubjectType::toString).toList();
        this.facts = facts;
    }

    /** What JMH measures of what the harness's table {@linkplain Report#quoted quotes}. */
    private static Metric quotedOfJmh(int threads) {
        return Report.quoted(threads) == Metric.CPU_NS ? Metric.JMH_CPU_NS : Metric.JMH_WALL_NS;
    }

    /**
     * JMH's ratio over the harness's, within the rounds that have both; the forks of a cell that are compared ran right
     * after each other.
     */
    Ratio difference(Cell cell) {
        final Map<Integer, Double> harness = results.ratios(cell, base(cell), Report.quoted(cell.threads()));
        final Map<Integer, Double> jmh = results.ratios(cell, base(cell), quotedOfJmh(cell.threads()));
        return Ratio.of(jmh.entrySet().stream()
                .filter(entry -> harness.containsKey(entry.getKey()))
                .map(entry -> entry.getValue() / harness.getOrDefault(entry.getKey(), Double.NaN))
                .toList());
    }

    private double ofHarness(Cell cell) {
        return results.ratio(cell, base(cell), Report.quoted(cell.threads()));
    }

    private double ofJmh(Cell cell) {
        return results.ratio(cell, base(cell), quotedOfJmh(cell.threads()));
    }

    private Cell base(Cell cell) {
        return new Cell(subjects.getFirst(), cell.workload(), cell.threads());
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder("# The harness beside JMH\n\n");
        facts.forEach(fact -> text.append("- ").append(fact).append('\n'));
        final String base = subjects.getFirst();
        text.append("\nNanoseconds per pair of a free and an allocation, the median of the rounds (lowest–highest):"
                        + " processor time of the thread where there is one, time that passed where there are more."
                        + " A ratio is the subject's time over that of `")
                .append(base)
                .append(
                        "`; the difference is that of JMH's ratio to the harness's in a round, with the interval that holds"
                                + " the true one with a probability of ")
                .append(Ratio.PERCENT)
                .append(" %.\n\n");
        row(
                text,
                List.of(
                        "workload",
                        "threads",
                        "subject",
                        "harness",
                        "JMH",
                        "harness / " + base,
                        "JMH / " + base,
                        "difference",
                        "interval"));
        text.append("|---|---:|---|---:|---:|---:|---:|---:|---:|\n");
        final List<Cell> cells = results.cells().stream()
                .sorted(Comparator.comparingInt((Cell cell) -> Workload.names().indexOf(cell.workload()))
                        .thenComparingInt(Cell::threads)
                        .thenComparingInt(cell -> subjects.indexOf(cell.subject())))
                .toList();
        cells.forEach(cell -> row(text, fields(cell)));
        return text.append('\n').append(conclusion(cells)).append('\n').toString();
    }

    private List<String> fields(Cell cell) {
        return List.of(
                cell.workload(),
                String.valueOf(cell.threads()),
                cell.subject(),
                results.text(cell, Report.quoted(cell.threads())),
                results.text(cell, quotedOfJmh(cell.threads())),
                Numbers.text(ofHarness(cell)),
                Numbers.text(ofJmh(cell)),
                isBase(cell) ? "" : percent(difference(cell).value()),
                isBase(cell) ? "" : interval(difference(cell)));
    }

    private boolean isBase(Cell cell) {
        return cell.equals(base(cell));
    }

    private static void row(StringBuilder text, List<String> fields) {
        text.append("| ").append(String.join(" | ", fields)).append(" |\n");
    }

    /** A ratio as so many percent more or less than 1; empty if there is none. */
    private static String percent(double ratio) {
        return Double.isNaN(ratio) ? "" : String.format(Locale.ROOT, "%+.1f %%", 100 * (ratio - 1));
    }

    /** Both ends of an interval; empty if there are too few rounds for one. */
    private static String interval(Ratio ratio) {
        return Double.isFinite(ratio.high()) ? percent(ratio.low()) + " to " + percent(ratio.high()) : "";
    }

    private String conclusion(List<Cell> cells) {
        final List<String> apart = new ArrayList<>();
        final List<String> open = new ArrayList<>();
        final List<String> incomplete = new ArrayList<>();
        int agreeing = 0;
        int compared = 0;
        // The first subject's ratio to itself says nothing.
        for (final Cell cell : cells.stream().filter(cell -> !isBase(cell)).toList()) {
            final Ratio difference = difference(cell);
            final String name = cell.subject() + " under " + cell.workload() + " with " + cell.threads()
                    + (cell.threads() == 1 ? " thread" : " threads");
            if (Double.isNaN(difference.value())) {
                incomplete.add(name);
                continue;
            }
            compared++;
            if (isWithinTolerance(difference.value())) {
                agreeing++;
            } else {
                apart.add(name + " (" + percent(difference.value()) + ")");
            }
            if (!isWithinTolerance(difference.low()) || !isWithinTolerance(difference.high())) {
                open.add(name);
            }
        }
        final List<String> sentences = new ArrayList<>();
        sentences.add(String.format(
                Locale.ROOT, "%d of %d ratios agree within %.0f %%.", agreeing, compared, TOLERANCE_PERCENT));
        if (!apart.isEmpty()) {
            sentences.add("These do not: " + String.join(", ", apart) + ".");
        }
        if (!open.isEmpty()) {
            sentences.add("Of " + (open.size() == compared ? "all" : open.size())
                    + " the interval is wider than that: more rounds narrow it.");
        }
        if (!incomplete.isEmpty()) {
            sentences.add("Without a ratio by both: " + String.join(", ", incomplete) + ".");
        }
        return String.join(" ", sentences);
    }

    private static boolean isWithinTolerance(double ratio) {
        // Of the percent as they are shown, so that 10.0 % is within 10 %.
        return Math.abs(Math.round(1000 * (ratio - 1))) <= 10 * TOLERANCE_PERCENT;
    }
}
