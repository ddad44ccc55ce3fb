package allocator.bench.pairs;

import allocator.bench.pairs.Results.Cell;
import allocator.bench.subject.SubjectType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * The figures of the harness beside JMH's as a page of Markdown, and how far apart their ratios of each subject to the
 * first one are. A subject's time often differs by 10 % and more from one JVM to the next, by either tool, so the two
 * are compared within each JVM.
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

    /** How far JMH's ratio is from the harness's, in percent of the latter; {@link Double#NaN} if either is missing. */
    double differencePercent(Cell cell) {
        return 100 * (ofBoth(cell) / ofBoth(base(cell)) - 1);
    }

    /** JMH's time over the harness's. */
    private double ofBoth(Cell cell) {
        return results.ratio(cell, quotedOfJmh(cell.threads()), Report.quoted(cell.threads()));
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
                + " JMH / harness is the median of the quotients of each JVM, in which both measured in turn.");
        text.append(" The difference is how far the ratio of the subject to `")
                .append(base)
                .append("` by JMH is from that by the harness: JMH / harness of the subject over that of `")
                .append(base)
                .append("`.\n\n");
        row(
                text,
                List.of(
                        "workload",
                        "threads",
                        "subject",
                        "harness",
                        "JMH",
                        "harness / " + base,
                        "JMH / harness",
                        "difference"));
        text.append("|---|---:|---|---:|---:|---:|---:|---:|\n");
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
                Numbers.text(results.ratio(cell, base(cell), Report.quoted(cell.threads()))),
                Numbers.text(ofBoth(cell)),
                isBase(cell) ? "" : percent(differencePercent(cell)));
    }

    private boolean isBase(Cell cell) {
        return cell.equals(base(cell));
    }

    private static void row(StringBuilder text, List<String> fields) {
        text.append("| ").append(String.join(" | ", fields)).append(" |\n");
    }

    private static String percent(double value) {
        return Double.isNaN(value) ? "" : String.format(Locale.ROOT, "%+.1f %%", value);
    }

    private String conclusion(List<Cell> cells) {
        final List<String> apart = new ArrayList<>();
        final List<String> incomplete = new ArrayList<>();
        int agreeing = 0;
        // The first subject's ratio to itself says nothing.
        for (final Cell cell : cells.stream().filter(cell -> !isBase(cell)).toList()) {
            final double difference = differencePercent(cell);
            final String name = cell.subject() + " under " + cell.workload() + " with " + cell.threads()
                    + (cell.threads() == 1 ? " thread" : " threads");
            if (Double.isNaN(difference)) {
                incomplete.add(name);
            } else if (Math.abs(difference) <= TOLERANCE_PERCENT) {
                agreeing++;
            } else {
                apart.add(name + " (" + percent(difference) + ")");
            }
        }
        return String.format(
                        Locale.ROOT,
                        "%d of %d ratios agree within %.0f %%.",
                        agreeing,
                        agreeing + apart.size(),
                        TOLERANCE_PERCENT)
                + (apart.isEmpty() ? "" : " These do not: " + String.join(", ", apart) + ".")
                + (incomplete.isEmpty() ? "" : " Without a ratio by both: " + String.join(", ", incomplete) + ".");
    }
}
