package allocator.bench.pairs;

import allocator.bench.sampling.Statistics;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;

/** All that was measured, round by round. */
final class Results {
    private static final String HEADER = "round,subject,workload,threads,metric,value";

    private final Map<Cell, Map<Metric, NavigableMap<Integer, List<Double>>>> cells = new LinkedHashMap<>();

    /** What a figure is about. */
    record Cell(String subject, String workload, int threads) {}

    /** Adds the lines of an {@link Output}. */
    void add(int round, String subject, List<String> lines) {
        for (final String line : lines) {
            final List<String> fields = Arrays.asList(line.split(",", -1));
            if (fields.size() != 4) {
                throw new IllegalArgumentException("not workload,threads,metric,value: " + line);
            }
            add(
                    round,
                    new Cell(subject, fields.get(0), Integer.parseInt(fields.get(1))),
                    Metric.of(fields.get(2)),
                    Double.parseDouble(fields.get(3)));
        }
    }

    void add(int round, Cell cell, Metric metric, double value) {
        cells.computeIfAbsent(cell, key -> new EnumMap<>(Metric.class))
                .computeIfAbsent(metric, key -> new TreeMap<>())
                .computeIfAbsent(round, key -> new ArrayList<>())
                .add(value);
    }

    /** The subjects for which there is anything, in the order of their first figures. */
    List<String> subjects() {
        return cells.keySet().stream().map(Cell::subject).distinct().toList();
    }

    /** What there are figures about, in the order of the first ones. */
    List<Cell> cells() {
        return List.copyOf(cells.keySet());
    }

    /** Whether there is such a figure. */
    boolean has(Cell cell, Metric metric) {
        return rounds(cell, metric).size() > 0;
    }

    /** The median of the rounds' medians; {@link Double#NaN} if it was not measured. */
    double median(Cell cell, Metric metric) {
        return Statistics.median(roundMedians(cell, metric));
    }

    /** The least of the rounds, or of the samples where there was one round only. */
    double low(Cell cell, Metric metric) {
        return Statistics.min(spread(cell, metric));
    }

    /** The largest of the rounds, or of the samples where there was one round only. */
    double high(Cell cell, Metric metric) {
        return Statistics.max(spread(cell, metric));
    }

    /** The median with the lowest and the highest, for a table; empty if it was not measured. */
    String text(Cell cell, Metric metric) {
        return has(cell, metric)
                ? Numbers.text(median(cell, metric)) + " (" + Numbers.text(low(cell, metric)) + "–"
                        + Numbers.text(high(cell, metric)) + ")"
                : "";
    }

    private List<Double> spread(Cell cell, Metric metric) {
        final NavigableMap<Integer, List<Double>> rounds = rounds(cell, metric);
        return rounds.size() == 1 ? rounds.firstEntry().getValue() : roundMedians(cell, metric);
    }

    /** The median of {@code cell / base} over the rounds that have both: they ran one after the other. */
    double ratio(Cell cell, Cell base, Metric metric) {
        return ratio(rounds(cell, metric), rounds(base, metric));
    }

    /** The median of {@code metric / base} over the rounds that have both: one JVM measured both. */
    double ratio(Cell cell, Metric metric, Metric base) {
        return ratio(rounds(cell, metric), rounds(cell, base));
    }

    private static double ratio(Map<Integer, List<Double>> values, Map<Integer, List<Double>> bases) {
        return Statistics.median(values.entrySet().stream()
                .filter(entry -> bases.containsKey(entry.getKey()))
                .map(entry -> Statistics.median(entry.getValue())
                        / Statistics.median(Objects.requireNonNull(bases.get(entry.getKey()))))
                .toList());
    }

    private List<Double> roundMedians(Cell cell, Metric metric) {
        return rounds(cell, metric).values().stream().map(Statistics::median).toList();
    }

    private NavigableMap<Integer, List<Double>> rounds(Cell cell, Metric metric) {
        return cells.getOrDefault(cell, Map.of()).getOrDefault(metric, new TreeMap<>());
    }

    /** All figures, one a line. */
    String toCsv() {
        final StringBuilder text = new StringBuilder(HEADER).append('\n');
        cells.forEach((cell, metrics) -> metrics.forEach((metric, rounds) ->
                rounds.forEach((round, values) -> values.forEach(value -> text.append(round)
                        .append(',')
                        .append(cell.subject)
                        .append(',')
                        .append(cell.workload)
                        .append(',')
                        .append(cell.threads)
                        .append(',')
                        .append(metric)
                        .append(',')
                        .append(Numbers.csv(value))
                        .append('\n')))));
        return text.toString();
    }

    /**
     * Reads what {@link #toCsv} wrote.
     *
     * @throws IllegalArgumentException if it is anything else
     */
    static Results parse(List<String> lines) {
        if (lines.isEmpty() || !lines.getFirst().equals(HEADER)) {
            throw new IllegalArgumentException("the first line is not " + HEADER);
        }
        final Results results = new Results();
        for (final String line : lines.subList(1, lines.size())) {
            final String[] fields = line.split(",", 3);
            if (fields.length != 3) {
                throw new IllegalArgumentException("not " + HEADER + ": " + line);
            }
            results.add(Integer.parseInt(fields[0]), fields[1], List.of(fields[2]));
        }
        return results;
    }
}
