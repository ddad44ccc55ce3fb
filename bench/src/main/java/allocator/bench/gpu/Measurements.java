package allocator.bench.gpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What {@link Results} and the rivals wrote, read back. */
public final class Measurements {
    /** The workload of many threads; all others are traces. */
    static final String PAIRS = "pairs";

    /** A measurement's place. */
    private record Key(String subject, String workload, int threads, String metric) {}

    private final Map<Key, Double> values = new LinkedHashMap<>();
    private final Set<String> subjects = new LinkedHashSet<>();
    private final Set<String> traces = new LinkedHashSet<>();

    private Measurements() {}

    public static Measurements read(Path file) throws IOException {
        final Measurements measurements = new Measurements();
        for (String line : Files.readAllLines(file)) {
            measurements.add(List.of(line.split(",", -1)));
        }
        return measurements;
    }

    private void add(List<String> fields) {
        final Key key = new Key(fields.get(0), fields.get(1), Integer.parseInt(fields.get(2)), fields.get(3));
        values.put(key, Double.parseDouble(fields.get(4)));
        subjects.add(key.subject);
        if (!key.workload.equals(PAIRS)) {
            traces.add(key.workload);
        }
    }

    /** Returns the names of all traces, in the order in which they were measured. */
    public Set<String> traces() {
        return traces;
    }

    /** Returns a figure; {@link Double#NaN} if it was not measured. */
    double value(String subject, String workload, int threads, String metric) {
        return values.getOrDefault(new Key(subject, workload, threads, metric), Double.NaN);
    }

    /**
     * Returns what a subject held on a trace at the peak, divided by what was requested; {@link Double#NaN} if it was
     * not measured.
     */
    public double heldOverRequested(String subject, String trace, int threads) {
        return value(subject, trace, threads, "peak_held_bytes") / requested(subject, trace, threads);
    }

    /** Returns the most bytes requested at once. What one thread requests is the same for all subjects. */
    double requested(String subject, String trace, int threads) {
        final double own = value(subject, trace, threads, "peak_requested_bytes");
        return Double.isNaN(own) && threads == 1 ? value("cuda-arena", trace, 1, "peak_requested_bytes") : own;
    }

    /** Returns the subjects with a metric, on a trace with this number of threads or on pairs with any. */
    List<String> subjectsWith(String metric, int threads) {
        return subjects.stream()
                .filter(subject -> values.keySet().stream()
                        .anyMatch(key -> key.subject.equals(subject)
                                && key.metric.equals(metric)
                                && (key.threads == threads || key.workload.equals(PAIRS))))
                .toList();
    }
}
