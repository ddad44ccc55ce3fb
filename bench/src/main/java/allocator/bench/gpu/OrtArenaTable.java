package allocator.bench.gpu;

import allocator.onnxruntime.OnnxRuntimeLibrary;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes one page of Markdown of ONNX Runtime's CUDA arena beside ours, all called directly, and of what budgets cost.
 *
 * <p>Arguments: results file, file with notes on the machine.
 */
public final class OrtArenaTable {
    private static final String DIRECT = " direct";
    private static final String THEIRS = "onnxruntime-cuda" + DIRECT;
    private static final String OURS = "cuda-arena" + DIRECT;
    private static final String EMPTY_CALL = "empty-call" + DIRECT;
    private static final double MIB = 1 << 20;

    private final Measurements measurements;
    private final MarkdownTable table;

    private OrtArenaTable(Measurements measurements, PrintStream out) {
        this.measurements = measurements;
        table = new MarkdownTable(out);
    }

    /** Prints the page, of a results file and a file of notes. */
    public static void main(String[] args) throws IOException {
        final List<String> notes = new ArrayList<>(Files.readAllLines(Path.of(args[1])));
        notes.add("ONNX Runtime: " + OnnxRuntimeLibrary.version());
        print(Measurements.read(Path.of(args[0])), notes, System.out);
    }

    /** Prints the page of some measurements. */
    static void print(Measurements measurements, List<String> notes, PrintStream out) {
        out.println("# ONNX Runtime's CUDA arena beside ours");
        out.println();
        notes.forEach(note -> out.println("- " + note));
        out.println();
        out.println("""
                `onnxruntime` is the arena that a session of its CUDA provider makes for itself, with default settings, called
                through the function pointers of the `OrtAllocator` that `CreateAllocator` returns. `Alloc` takes no stream,
                so it keeps none apart; `Free` checks no address. Ours are called directly too, with the streams of the trace.
                Each figure is a median of nanoseconds per event, one allocation or one free; the first replay includes what
                the JVM loads and links for it.

                Java reaches ONNX Runtime by plain downcalls, two of them for a pair, which a caller in C++ does not need.
                "Downcall" is the same replay with an empty C function in place of the arena, the loop included. So a C++
                caller's time lies between the figure less the downcall and the figure, and so do both ratios.""");
        final OrtArenaTable page = new OrtArenaTable(measurements, out);
        page.times("Warm: allocator filled by an earlier replay", "ns_per_event_warm");
        page.times("Cold: fresh allocator, code warmed up", "ns_per_event_cold");
        page.subjects("First: first replay in a new JVM", "ns_per_event_first", 1);
        page.subjects("Held after several dozen replays, at the peak, MiB", "peak_held_bytes", MIB);
        page.budgets();
    }

    private double value(String subject, String trace, String metric) {
        return measurements.value(subject, trace, 1, metric);
    }

    private void times(String title, String metric) {
        table.header(
                title,
                "trace",
                List.of(
                        "onnxruntime",
                        "downcall",
                        "cuda-arena",
                        "compact",
                        "cuda-mempool",
                        "onnxruntime / cuda-arena",
                        "less the downcall"));
        for (String trace : measurements.traces()) {
            final double theirs = value(THEIRS, trace, metric);
            final double call = value(EMPTY_CALL, trace, "ns_per_event_warm");
            final double ours = value(OURS, trace, metric);
            line(
                    trace,
                    theirs,
                    call,
                    ours,
                    value("cuda-arena compact" + DIRECT, trace, metric),
                    value("cuda-mempool" + DIRECT, trace, metric),
                    theirs / ours,
                    (theirs - call) / ours);
        }
    }

    private void subjects(String title, String metric, double unit) {
        final List<String> subjects = measurements.subjectsWith(metric, 1).stream()
                .filter(subject -> !subject.equals(EMPTY_CALL))
                .toList();
        table.header(
                title,
                "trace",
                subjects.stream()
                        .map(subject -> subject.replace(DIRECT, "").replace("-cuda", ""))
                        .toList());
        for (String trace : measurements.traces()) {
            line(
                    trace,
                    subjects.stream()
                            .mapToDouble(subject -> value(subject, trace, metric) / unit)
                            .toArray());
        }
    }

    private void budgets() {
        table.header(
                "A budget: nanoseconds per warm pair of free and allocation",
                "on",
                List.of("pair", "added, median of the rounds' differences"));
        for (String subject : measurements.subjectsWith("ns_per_warm_pair", 1)) {
            line(
                    subject.replace(';', ','),
                    value(subject, Measurements.PAIRS, "ns_per_warm_pair"),
                    value(subject, Measurements.PAIRS, "ns_added_by_budget"));
        }
    }

    private void line(String name, double... figures) {
        final List<String> cells = new ArrayList<>();
        for (double figure : figures) {
            cells.add(MarkdownTable.text(figure));
        }
        table.line(name, cells);
    }
}
