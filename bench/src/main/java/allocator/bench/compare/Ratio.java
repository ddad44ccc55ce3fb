package allocator.bench.compare;

import java.util.Arrays;
import java.util.List;

/**
 * How long B takes over A, and the interval that holds the true ratio with a probability of {@value #PERCENT} %.
 *
 * <p>Estimated from the ratios of pairs of JVMs: the value is the Hodges-Lehmann estimate of their logarithms, the
 * interval that of Wilcoxon's signed rank test. Both rest on ranks, so one disturbed pair moves them little, and
 * neither assumes a normal distribution.
 *
 * @param value the ratio
 * @param low the lower end; 0 while there are too few pairs
 * @param high the upper end; infinite while there are too few pairs
 */
record Ratio(double value, double low, double high) {
    /**
     * The confidence of one interval. A comparison looks at its intervals after each round and stops when they suffice;
     * at 95 % it would err far more often than once in twenty, at this level it does not.
     */
    static final int PERCENT = 99;

    /** The fewest pairs that have an interval: with fewer, all of them on one side is not rare enough. */
    static final int FEWEST_PAIRS = 8;

    private static final double TAIL = (1 - PERCENT / 100.0) / 2;

    /** Estimates the ratio from those of the pairs. */
    static Ratio of(List<Double> ratios) {
        final int count = ratios.size();
        if (count == 0) {
            return new Ratio(Double.NaN, 0, Double.POSITIVE_INFINITY);
        }
        final double[] logarithms = ratios.stream().mapToDouble(Math::log).toArray();
        final double[] means = meansOfTwo(logarithms);
        final double value = Math.exp((means[(means.length - 1) / 2] + means[means.length / 2]) / 2);
        final int outside = outside(count);
        return outside == 0
                ? new Ratio(value, 0, Double.POSITIVE_INFINITY)
                : new Ratio(value, Math.exp(means[outside - 1]), Math.exp(means[means.length - outside]));
    }

    /** The mean of every value with itself and with every other, in order. */
    private static double[] meansOfTwo(double[] values) {
        final double[] means = new double[values.length * (values.length + 1) / 2];
        int length = 0;
        for (int i = 0; i < values.length; i++) {
            for (int j = i; j < values.length; j++) {
                means[length++] = (values[i] + values[j]) / 2;
            }
        }
        Arrays.sort(means);
        return means;
    }

    /** The place, from 1, of the mean at which the interval begins; 0 if there are too few pairs for one. */
    private static int outside(int count) {
        // How probable each sum of ranks is if each rank counts with a probability of one half.
        final double[] probability = new double[count * (count + 1) / 2 + 1];
        probability[0] = 1;
        for (int rank = 1; rank <= count; rank++) {
            for (int sum = probability.length - 1; sum >= 0; sum--) {
                probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
            }
        }
        int outside = 0;
        double below = probability[0];
        while (below <= TAIL) {
            outside++;
            below += probability[outside];
        }
        return outside;
    }
}
