package allocator.bench.gpu;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.DoubleUnaryOperator;

/**
 * Makes one page of Markdown of what {@link Results} and the rivals wrote: a table for each kind of measurement, and
 * what is required beside what was measured.
 *
 * <p>Arguments: results file, file with notes on the machine.
 */
public final class ResultTable {
    private static final String ARENA = "cuda-arena";
    private static final String POOL = "cuda-mempool";
    private static final String TORCH = "PyTorch";
    private static final String ASYNC = "cudaMallocAsync";
    private static final double MIB = 1 << 20;

    /** A measurement's place. */
    private record Key(String subject, String workload, int threads, String metric) {}

    private final Map<Key, Double> values = new LinkedHashMap<>();
    private final Set<String> subjects = new LinkedHashSet<>();
    private final Set<String> traces = new LinkedHashSet<>();
    private final PrintStream out;

    private ResultTable(PrintStream out) {
        this.out = out;
    }

    /**
     * Prints the page.
     *
     * @param args results file, notes
     * @throws IOException if a file cannot be read
     */
    public static void main(String[] args) throws IOException {
        final ResultTable table = new ResultTable(System.out);
        table.read(Path.of(args[0]));
        table.print(Files.readAllLines(Path.of(args[1])));
    }

    private void read(Path file) throws IOException {
        for (String line : Files.readAllLines(file)) {
            final List<String> fields = List.of(line.split(",", -1));
            final Key key = new Key(fields.get(0), fields.get(1), Integer.parseInt(fields.get(2)), fields.get(3));
            values.put(key, Double.parseDouble(fields.get(4)));
            subjects.add(key.subject);
            if (!key.workload.equals("pairs")) {
                traces.add(key.workload);
            }
        }
    }

    private double value(String subject, String workload, int threads, String metric) {
        return values.getOrDefault(new Key(subject, workload, threads, metric), Double.NaN);
    }

    private void print(List<String> notes) {
        out.println("# CUDA providers beside their rivals");
        out.println();
        notes.forEach(note -> out.println("- " + note));
        out.println();
        out.println("Through a session, as `allocator replay` does it; \"direct\" calls the provider. Each "
                + "figure is a median.");
        times("Warm: nanoseconds per event, allocator filled by an earlier replay", "ns_per_event_warm");
        times("Cold: nanoseconds per event, fresh allocator, code warmed up", "ns_per_event_cold");
        times("First: nanoseconds per event, first replay in a new JVM", "ns_per_event_first");
        held();
        times("Java heap: bytes per event, ends of runs included", "heap_bytes_per_event");
        threads(
                "Pairs of free and allocation, each thread on a stream of its own: millions per second, all threads",
                "million_pairs_per_s");
        threads("The same: nanoseconds per pair and thread", "ns_per_pair");
        required();
    }

    private List<String> subjectsWith(String metric) {
        return subjects.stream()
                .filter(subject -> values.keySet().stream()
                        .anyMatch(key -> key.subject.equals(subject) && key.metric.equals(metric)))
                .toList();
    }

    private void times(String title, String metric) {
        final List<String> columns = subjectsWith(metric);
        header(title, "trace", columns);
        for (String trace : traces) {
            row(trace, columns, subject -> value(subject, trace, 1, metric), DoubleUnaryOperator.identity());
        }
    }

    private void held() {
        final List<String> columns = subjectsWith("peak_held_bytes");
        header("Held at the peak, MiB, and divided by what was requested", "trace", columns);
        for (String trace : traces) {
            final double requested = value(ARENA, trace, 1, "peak_requested_bytes");
            final List<String> cells = new ArrayList<>();
            for (String subject : columns) {
                final double bytes = value(subject, trace, 1, "peak_held_bytes");
                cells.add(Double.isNaN(bytes) ? "" : text(bytes / MIB) + " (" + text(bytes / requested) + ")");
            }
            line(trace, cells);
        }
    }

    private void threads(String title, String metric) {
        final List<String> columns = subjectsWith(metric);
        header(title, "threads", columns);
        for (int count = 1; count <= 16; count *= 2) {
            final int threads = count;
            row(
                    Integer.toString(threads),
                    columns,
                    subject -> value(subject, "pairs", threads, metric),
                    DoubleUnaryOperator.identity());
        }
    }

    private void header(String title, String first, List<String> columns) {
        out.println();
        out.println("## " + title);
        out.println();
        line(first, columns);
        out.println("|---|" + "---:|".repeat(columns.size()));
    }

    private interface Column {
        double valueOf(String subject);
    }

    private void row(String name, List<String> columns, Column column, DoubleUnaryOperator unit) {
        line(
                name,
                columns.stream()
                        .map(column::valueOf)
                        .map(value -> Double.isNaN(value) ? "" : text(unit.applyAsDouble(value)))
                        .toList());
    }

    private void line(String name, List<String> cells) {
        out.println("| " + name + " | " + String.join(" | ", cells) + " |");
    }

    private static String text(double value) {
        return String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    }

    private void required() {
        out.println();
        out.println("## Required");
        out.println();
        out.println("| what | at most / at least | measured | |");
        out.println("|---|---|---|---|");
        for (String trace : traces) {
            atMost(trace + ": warm, cuda-arena / PyTorch", 1 / 3.0, ratio(trace, ARENA, TORCH, "ns_per_event_warm"));
            atMost(trace + ": cold, cuda-arena / PyTorch", 1, ratio(trace, ARENA, TORCH, "ns_per_event_cold"));
            atMost(
                    trace + ": warm, cuda-mempool / cudaMallocAsync",
                    1.3,
                    ratio(trace, POOL, ASYNC, "ns_per_event_warm"));
            atMost(trace + ": Java heap per event", 0.5, value(ARENA + " direct", trace, 1, "heap_bytes_per_event"));
        }
        final double all = value(ARENA + " direct", "pairs", 16, "million_pairs_per_s");
        atLeast("16 threads, cuda-arena / PyTorch", 50, all / value(TORCH, "pairs", 16, "million_pairs_per_s"));
        atLeast(
                "16 threads / 1 thread, cuda-arena",
                6,
                all / value(ARENA + " direct", "pairs", 1, "million_pairs_per_s"));
    }

    private double ratio(String trace, String ours, String theirs, String metric) {
        return value(ours, trace, 1, metric) / value(theirs, trace, 1, metric);
    }

    private void atMost(String what, double bound, double measured) {
        verdict(what, "<= " + text(bound), measured, measured <= bound);
    }

    private void atLeast(String what, double bound, double measured) {
        verdict(what, ">= " + text(bound), measured, measured >= bound);
    }

    private void verdict(String what, String bound, double measured, boolean isMet) {
        final String answer = Double.isNaN(measured) ? "not measured" : isMet ? "yes" : "**no**";
        line(what, List.of(bound, Double.isNaN(measured) ? "" : text(measured), answer));
    }
}
