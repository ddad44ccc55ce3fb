package allocator.bench.gpu;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** What is required, beside what was measured: rows of a table. */
final class Requirements {
    private static final String ARENA = "cuda-arena";
    private static final String COMPACT = "cuda-arena compact";
    private static final String DIRECT = " direct";
    private static final String POOL = "cuda-mempool";
    private static final String TORCH = "PyTorch";
    private static final String EXPANDABLE = "PyTorch expandable";
    private static final String ASYNC = "cudaMallocAsync";
    private static final String WARM = "ns_per_event_warm";
    private static final String COLD = "ns_per_event_cold";

    /** Traces on which compact may hold more than on the others. */
    private static final Map<String, Double> HELD_AT_MOST = Map.of("resnet", 1.08, "frcnn", 1.10);

    private final Measurements measurements;
    private final MarkdownTable table;

    Requirements(Measurements measurements, MarkdownTable table) {
        this.measurements = measurements;
        this.table = table;
    }

    void print() {
        header("Required");
        for (String trace : measurements.traces()) {
            atMost(trace + ": warm, cuda-arena / PyTorch", 1 / 3.0, ratio(trace, ARENA, TORCH, WARM));
            atMost(trace + ": cold, cuda-arena / PyTorch", 1, ratio(trace, ARENA, TORCH, COLD));
            atMost(trace + ": warm, cuda-mempool / cudaMallocAsync", 1.3, ratio(trace, POOL, ASYNC, WARM));
            heap(trace, ARENA);
        }
        final double all = pairs(ARENA + DIRECT, 16);
        atLeast("16 threads, cuda-arena / PyTorch", 50, all / pairs(TORCH, 16));
        atLeast("16 threads / 1 thread, cuda-arena", 6, all / pairs(ARENA + DIRECT, 1));
        compact();
    }

    private void compact() {
        header("Required of arena.policy=compact");
        for (String trace : measurements.traces()) {
            if (HELD_AT_MOST.containsKey(trace)) {
                atMost(trace + ": held / requested", HELD_AT_MOST.get(trace), held(trace));
            }
            atMost(trace + ": warm / PyTorch expandable", 1, ratio(trace, COMPACT, EXPANDABLE, WARM));
            atMost(trace + ": cold / PyTorch expandable", 2, ratio(trace, COMPACT, EXPANDABLE, COLD));
            heap(trace, COMPACT);
        }
        traces("held / requested at most 1.045", 4, 1.045, this::held);
        traces("warm / cuda-arena at most 1", 5, 1, trace -> ratio(trace, COMPACT, ARENA, WARM));
        traces("warm / PyTorch expandable at most 0.5", 5, 0.5, trace -> ratio(trace, COMPACT, EXPANDABLE, WARM));
        traces(
                "no page mapped or unmapped in a settled warm replay",
                4,
                0,
                trace -> measurements.value(COMPACT + DIRECT, trace, 1, "page_calls_settled"));
        for (String trace : measurements.traces()) {
            final double held = measurements.heldOverRequested(COMPACT + DIRECT, trace, 2);
            if (!Double.isNaN(held)) {
                atMost(trace + ", two threads: held / requested at once", 1.15, held);
            }
        }
    }

    /** Returns the greater of what is held after the first replay and after several dozen. */
    private double held(String trace) {
        return Math.max(
                measurements.heldOverRequested(COMPACT, trace, 1),
                measurements.heldOverRequested(COMPACT + DIRECT, trace, 1));
    }

    private void heap(String trace, String subject) {
        atMost(
                trace + ": Java heap per event",
                0.5,
                measurements.value(subject + DIRECT, trace, 1, "heap_bytes_per_event"));
    }

    private double ratio(String trace, String ours, String theirs, String metric) {
        return measurements.ratio(trace, ours, theirs, metric);
    }

    private double pairs(String subject, int threads) {
        return measurements.value(subject, Measurements.PAIRS, threads, "million_pairs_per_s");
    }

    private void header(String title) {
        table.header(title, "what", List.of("at most / at least", "measured", ""), "---");
    }

    private void atMost(String what, double bound, double measured) {
        verdict(what, "<= " + text(bound), measured, measured <= bound);
    }

    private void atLeast(String what, double bound, double measured) {
        verdict(what, ">= " + text(bound), measured, measured >= bound);
    }

    /** Requires of several traces that a figure is at most a bound. */
    private void traces(String what, int fewest, double bound, ToDoubleFunction<String> figure) {
        final List<Double> measured = measurements.traces().stream()
                .map(figure::applyAsDouble)
                .filter(value -> !Double.isNaN(value))
                .toList();
        final long met = measured.stream().filter(value -> value <= bound).count();
        verdict(
                "traces: " + what,
                ">= " + fewest,
                measured.size() < fewest ? Double.NaN : met,
                met >= fewest,
                met + " of " + measured.size());
    }

    private void verdict(String what, String bound, double measured, boolean isMet) {
        verdict(what, bound, measured, isMet, text(measured));
    }

    private void verdict(String what, String bound, double measured, boolean isMet, String text) {
        final boolean isMissing = Double.isNaN(measured);
        table.line(what, List.of(bound, isMissing ? "" : text, isMissing ? "not measured" : isMet ? "yes" : "**no**"));
    }

    /** Returns one digit more than the other tables have: bounds are close to what is measured. */
    private static String text(double value) {
        return value >= 10 ? MarkdownTable.text(value) : String.format(Locale.ROOT, "%.3f", value);
    }
}
