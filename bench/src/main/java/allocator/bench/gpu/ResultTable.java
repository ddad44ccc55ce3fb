package allocator.bench.gpu;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Makes one page of Markdown of what {@link Results} and the rivals wrote: a table for each kind of measurement, and
 * what is required beside what was measured.
 *
 * <p>Arguments: results file, file with notes on the machine.
 */
public final class ResultTable {
    private static final double MIB = 1 << 20;

    private final Measurements measurements;
    private final PrintStream out;
    private final MarkdownTable table;

    private ResultTable(Measurements measurements, PrintStream out) {
        this.measurements = measurements;
        this.out = out;
        table = new MarkdownTable(out);
    }

    /** Prints the page, of a results file and a file of notes. */
    public static void main(String[] args) throws IOException {
        print(Measurements.read(Path.of(args[0])), Files.readAllLines(Path.of(args[1])), System.out);
    }

    /** Prints the page of some measurements. */
    static void print(Measurements measurements, List<String> notes, PrintStream out) {
        new ResultTable(measurements, out).print(notes);
    }

    private void print(List<String> notes) {
        out.println("# CUDA providers beside their rivals");
        out.println();
        notes.forEach(note -> out.println("- " + note));
        out.println();
        out.println("Through a session, as `allocator replay` does it; \"direct\" calls the provider. \"compact\" and "
                + "\"slabs\" are values of `arena.policy`. Each figure is a median.");
        traces("Warm: nanoseconds per event, allocator filled by an earlier replay", "ns_per_event_warm");
        traces("Cold: nanoseconds per event, fresh allocator, code warmed up", "ns_per_event_cold");
        traces("First: nanoseconds per event, first replay in a new JVM", "ns_per_event_first");
        sizes(
                "Held at the peak, MiB, and divided by what was requested; \"direct\" after several dozen replays",
                "peak_held_bytes");
        sizes("Addresses mapped at the peak, MiB, and divided by what was requested", "peak_mapped_bytes");
        traces("Pages mapped and unmapped in a settled warm replay", "page_calls_settled");
        traces("Nanoseconds per event in calls for pages, in a settled warm replay", "page_ns_per_event_settled");
        traces("Java heap: bytes per event, ends of runs included", "heap_bytes_per_event");
        twoThreads();
        threads(
                "Pairs of free and allocation, each thread on a stream of its own: millions per second, all threads",
                "million_pairs_per_s");
        threads("The same: nanoseconds per pair and thread", "ns_per_pair");
    }

    private void traces(String title, String metric) {
        final List<String> columns = measurements.subjectsWith(metric, 1);
        table.header(title, "trace", columns);
        for (String trace : measurements.traces()) {
            row(trace, columns, subject -> measurements.value(subject, trace, 1, metric));
        }
    }

    private void sizes(String title, String metric) {
        final List<String> columns = measurements.subjectsWith(metric, 1);
        table.header(title, "trace", columns);
        for (String trace : measurements.traces()) {
            table.line(
                    trace,
                    columns.stream()
                            .map(subject -> size(subject, trace, 1, metric))
                            .toList());
        }
    }

    private String size(String subject, String trace, int threads, String metric) {
        final double bytes = measurements.value(subject, trace, threads, metric);
        return Double.isNaN(bytes)
                ? ""
                : MarkdownTable.text(bytes / MIB) + " ("
                        + MarkdownTable.text(bytes / measurements.requested(subject, trace, threads)) + ")";
    }

    private void twoThreads() {
        table.header(
                "Two threads that each replay a trace on one allocator, each on a stream of its own",
                "trace, allocator",
                List.of(
                        "requested at once, MiB",
                        "held, MiB (/ requested)",
                        "ns per event",
                        "pages mapped and unmapped per replay"));
        for (String trace : measurements.traces()) {
            for (String subject : measurements.subjectsWith("peak_held_bytes", 2)) {
                if (!Double.isNaN(measurements.value(subject, trace, 2, "peak_held_bytes"))) {
                    table.line(
                            trace + ", " + subject,
                            List.of(
                                    MarkdownTable.text(measurements.requested(subject, trace, 2) / MIB),
                                    size(subject, trace, 2, "peak_held_bytes"),
                                    twoThreads(subject, trace, "ns_per_event_warm"),
                                    twoThreads(subject, trace, "page_calls_settled")));
                }
            }
        }
    }

    private String twoThreads(String subject, String trace, String metric) {
        return MarkdownTable.text(measurements.value(subject, trace, 2, metric));
    }

    private void threads(String title, String metric) {
        final List<String> columns = measurements.subjectsWith(metric, 1);
        table.header(title, "threads", columns);
        for (int count = 1; count <= 16; count *= 2) {
            final int threads = count;
            row(
                    Integer.toString(threads),
                    columns,
                    subject -> measurements.value(subject, Measurements.PAIRS, threads, metric));
        }
    }

    private void row(String name, List<String> columns, ToDoubleFunction<String> figure) {
        table.line(
                name,
                columns.stream()
                        .map(subject -> MarkdownTable.text(figure.applyAsDouble(subject)))
                        .toList());
    }
}
