package allocator.bench.pairs;

import java.util.Arrays;
import java.util.List;

/** Medians, and how sure a ratio is. */
final class Statistics {
    private static final int RESAMPLES = 10_000;
    private static final long SEED = 1;

    private Statistics() {}

    /** A value and the interval that holds it with a probability of 95 %. */
    record Estimate(double value, double low, double high) {}

    /** The middle value, or the mean of the two in the middle; {@link Double#NaN} of nothing. */
    static double median(List<Double> values) {
        return median(values.stream().mapToDouble(Double::doubleValue).toArray());
    }

    private static double median(double[] values) {
        if (values.length == 0) {
            return Double.NaN;
        }
        Arrays.sort(values);
        return (values[(values.length - 1) / 2] + values[values.length / 2]) / 2;
    }

    /** The least; {@link Double#NaN} of nothing. */
    static double min(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).min().orElse(Double.NaN);
    }

    /** The largest; {@link Double#NaN} of nothing. */
    static double max(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
    }

    /**
     * The median of {@code b / a} over pairs that were measured one right after the other. The interval is from the 2.5th
     * to the 97.5th percentile of the medians of resamples of the ratios (bootstrap), always the same ones.
     *
     * @throws IllegalArgumentException if there are no pairs, or not as many of one as of the other
     */
    static Estimate pairedRatio(List<Double> a, List<Double> b) {
        if (a.isEmpty() || a.size() != b.size()) {
            throw new IllegalArgumentException(a.size() + " values cannot be paired with " + b.size());
        }
        final double[] ratios = new double[a.size()];
        Arrays.setAll(ratios, i -> b.get(i) / a.get(i));
        final SplitMix64 random = new SplitMix64(SEED);
        final double[] medians = new double[RESAMPLES];
        final double[] resample = new double[ratios.length];
        for (int i = 0; i < RESAMPLES; i++) {
            for (int j = 0; j < resample.length; j++) {
                resample[j] = ratios[random.nextInt(ratios.length)];
            }
            medians[i] = median(resample);
        }
        Arrays.sort(medians);
        return new Estimate(median(ratios), medians[(int) (0.025 * RESAMPLES)], medians[(int) (0.975 * RESAMPLES) - 1]);
    }
}
