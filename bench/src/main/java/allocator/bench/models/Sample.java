package allocator.bench.models;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Repeated measurements of one thing, and their median with the interval that has it with 95 % certainty. */
final class Sample {
    private final List<Double> values = new ArrayList<>();

    void add(double value) {
        values.add(value);
    }

    double median() {
        return sorted()[values.size() / 2];
    }

    double get(int index) {
        return values.get(index);
    }

    /** Each value over the one that was measured beside it. */
    Sample over(Sample other) {
        final Sample ratios = new Sample();
        for (int i = 0; i < values.size(); i++) {
            ratios.add(values.get(i) / other.get(i));
        }
        return ratios;
    }

    private double[] sorted() {
        return values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    }

    /** The interval: so many places from the middle, as heads among so many coins are from half of them. */
    String interval(String format) {
        final double[] sorted = sorted();
        final int reach = (int) Math.ceil(0.98 * Math.sqrt(sorted.length));
        final int middle = sorted.length / 2;
        return String.format(
                Locale.ROOT,
                format + "–" + format,
                sorted[Math.max(0, middle - reach)],
                sorted[Math.min(sorted.length - 1, middle + reach)]);
    }
}
