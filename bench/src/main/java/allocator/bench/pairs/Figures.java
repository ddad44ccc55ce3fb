package allocator.bench.pairs;

import allocator.bench.report.Statistics;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;

/** What rounds have measured, figure by figure, and the CSV that keeps it. */
final class Figures {
    private static final String HEADER = "round,subject,workload,threads,metric,value";

    private final Map<Row, NavigableMap<Integer, List<Double>>> rows = new LinkedHashMap<>();

    /** What a figure is about. */
    record Row(String subject, String workload, int threads, String metric) {
        Row of(String otherSubject) {
            return new Row(otherSubject, workload, threads, metric);
        }
    }

    void add(int round, Row row, double value) {
        rows.computeIfAbsent(row, key -> new TreeMap<>())
                .computeIfAbsent(round, key -> new ArrayList<>())
                .add(value);
    }

    /** What there are figures about, in the order of the first ones. */
    List<Row> rows() {
        return List.copyOf(rows.keySet());
    }

    boolean has(Row row) {
        return rows.containsKey(row);
    }

    /** The median of the rounds' medians; {@link Double#NaN} if it was not measured. */
    double median(Row row) {
        return Statistics.median(medians(row));
    }

    /** The median with the lowest and the highest round; empty if it was not measured. */
    String text(Row row) {
        if (!has(row)) {
            return "";
        }
        final List<Double> medians = medians(row);
        return medians.size() == 1
                ? number(medians.getFirst())
                : number(Statistics.median(medians)) + " (" + number(Statistics.min(medians)) + "–"
                        + number(Statistics.max(medians)) + ")";
    }

    /** The median of {@code row / base} over the rounds that have both; empty if there is none. */
    String ratio(Row row, Row base) {
        final NavigableMap<Integer, List<Double>> bases = rounds(base);
        final double ratio = Statistics.median(rounds(row).entrySet().stream()
                .filter(entry -> bases.containsKey(entry.getKey()))
                .map(entry -> Statistics.median(entry.getValue())
                        / Statistics.median(Objects.requireNonNull(bases.get(entry.getKey()))))
                .toList());
        return Double.isNaN(ratio) ? "" : number(ratio);
    }

    private List<Double> medians(Row row) {
        return rounds(row).values().stream().map(Statistics::median).toList();
    }

    private NavigableMap<Integer, List<Double>> rounds(Row row) {
        return rows.getOrDefault(row, new TreeMap<>());
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value >= 99.95 ? "%,.0f" : value >= 9.995 ? "%.1f" : "%.2f", value);
    }

    /** All figures, one a line. */
    String toCsv() {
        final StringBuilder text = new StringBuilder(HEADER).append('\n');
        rows.forEach((row, rounds) ->
                rounds.forEach((round, values) -> values.forEach(value -> text.append(String.format(
                        Locale.ROOT,
                        "%d,%s,%s,%d,%s,%.4f%n",
                        round,
                        row.subject,
                        row.workload,
                        row.threads,
                        row.metric,
                        value)))));
        return text.toString();
    }

    /**
     * Reads what {@link #toCsv} wrote.
     *
     * @throws IllegalArgumentException if it is anything else
     */
    static Figures parse(List<String> lines) {
        if (lines.isEmpty() || !lines.getFirst().equals(HEADER)) {
            throw new IllegalArgumentException("the first line is not " + HEADER);
        }
        final Figures figures = new Figures();
        for (final String line : lines.subList(1, lines.size())) {
            final String[] fields = line.split(",", -1);
            if (fields.length != 6) {
                throw new IllegalArgumentException("not " + HEADER + ": " + line);
            }
            figures.add(
                    Integer.parseInt(fields[0]),
                    new Row(fields[1], fields[2], Integer.parseInt(fields[3]), fields[4]),
                    Double.parseDouble(fields[5]));
        }
        return figures;
    }
}
