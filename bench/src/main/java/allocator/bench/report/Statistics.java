package allocator.bench.report;

import java.util.Arrays;
import java.util.List;

/** Medians and extremes. */
public final class Statistics {
    private Statistics() {}

    /** Returns the value in the middle, or the mean of the two in the middle; {@link Double#NaN} of nothing. */
    public static double median(List<Double> values) {
        return median(values.stream().mapToDouble(Double::doubleValue).toArray());
    }

    private static double median(double[] values) {
        if (values.length == 0) {
            return Double.NaN;
        }
        Arrays.sort(values);
        return (values[(values.length - 1) / 2] + values[values.length / 2]) / 2;
    }

    /** Returns the smallest value; {@link Double#NaN} of nothing. */
    public static double min(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).min().orElse(Double.NaN);
    }

    /** Returns the largest value; {@link Double#NaN} of nothing. */
    public static double max(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
    }
}
