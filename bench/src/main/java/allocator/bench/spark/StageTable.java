package allocator.bench.spark;

import allocator.bench.report.Statistics;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The times of all rounds as a page, with what is required of them. */
final class StageTable {
    /** What the plug-in may add to a stage of inference. */
    private static final double MOST = 1.01;

    /** The tasks of a stage whose tasks do next to nothing. */
    private static final int TASKS = 400;

    private static final int NAME = 1;
    private static final int WALL = 2;
    private static final int PROCESSOR = 3;

    /** The times of a round: the median of its stages. */
    private final Map<String, List<Double>> rounds = new HashMap<>();

    /** Adds the lines of a process. */
    void add(String variant, List<String> lines) {
        final Map<String, List<Double>> stages = new HashMap<>();
        for (final String line : lines) {
            final String[] words = line.split(" ", -1);
            if (words[0].equals("stage")) {
                add(stages, key(variant, words[NAME], "wall"), Double.parseDouble(words[WALL]));
                add(stages, key(variant, words[NAME], "processor"), Double.parseDouble(words[PROCESSOR]));
            }
        }
        stages.forEach((key, times) -> add(rounds, key, Statistics.median(times)));
    }

    private static void add(Map<String, List<Double>> map, String key, double value) {
        map.computeIfAbsent(key, ignored -> new ArrayList<>()).add(value);
    }

    private static String key(String variant, String stage, String clock) {
        return variant + " " + stage + " " + clock;
    }

    private List<Double> times(String variant, String stage, String clock) {
        return rounds.getOrDefault(key(variant, stage, clock), List.of());
    }

    /** Returns the ratio of each round. */
    private List<Double> ratios(String stage, String clock) {
        final List<Double> with = times("plugin", stage, clock);
        final List<Double> without = times("plain", stage, clock);
        final List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < Math.min(with.size(), without.size()); round++) {
            ratios.add(with.get(round) / without.get(round));
        }
        return ratios;
    }

    String toMarkdown() {
        final StringBuilder page = new StringBuilder("| stage | clock | without: ms | with: ms | with / without |\n");
        page.append("|---|---|---:|---:|---:|\n");
        row(page, "inference", "processor");
        row(page, "inference", "wall");
        row(page, "tasks", "processor");
        row(page, "tasks", "wall");
        final double ratio = Statistics.median(ratios("inference", "processor"));
        final double perTask = (Statistics.median(times("plugin", "tasks", "processor"))
                        - Statistics.median(times("plain", "tasks", "processor")))
                / TASKS;
        return page.append("\n## Required\n\n")
                .append("- the plug-in adds ")
                .append(text((ratio - 1) * 100))
                .append(" % to the processor time of a stage of inference (")
                .append(ratio <= MOST ? "met" : "not met")
                .append(", 1)\n- a task that allocates nothing takes ")
                .append(text(perTask * 1000))
                .append(" µs more of processor time\n")
                .toString();
    }

    private void row(StringBuilder page, String stage, String clock) {
        page.append("| ").append(stage).append(" | ").append(clock).append(" | ");
        page.append(range(times("plain", stage, clock))).append(" | ");
        page.append(range(times("plugin", stage, clock))).append(" | ");
        final List<Double> ratios = ratios(stage, clock);
        page.append(ratio(Statistics.median(ratios))).append(" (").append(ratio(Statistics.min(ratios)));
        page.append('–').append(ratio(Statistics.max(ratios))).append(") |\n");
    }

    private static String range(List<Double> values) {
        return text(Statistics.median(values)) + " (" + text(Statistics.min(values)) + "–"
                + text(Statistics.max(values)) + ")";
    }

    private static String text(double value) {
        return String.format(Locale.ROOT, Math.abs(value) < 100 ? "%.2f" : "%,.0f", value);
    }

    private static String ratio(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }
}
