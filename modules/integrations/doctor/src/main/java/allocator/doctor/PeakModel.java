package allocator.doctor;

import allocator.doctor.Recording.Event;
import allocator.doctor.Recording.Runs;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The peak of a session as a function of a free dimension n. Each allocation's bytes are a polynomial of n, of degree 2
 * at most, through those of runs at three sizes. The peak is the most that the sums reach over the events, so another
 * operator may have it at another n.
 */
final class PeakModel {
    /** Bytes by which an operator's own memory may be rounded, and the part of a block that is as good as that. */
    private static final long ROUNDING = 1024;

    private static final double NEGLIGIBLE = 1e-4;

    /** The part of the growth since the first run by which a prediction may be wrong: errors grow beyond it. */
    private static final double TOLERANCE = 0.001;

    private final Runs runs;

    /** For each event of the first run and of the second one, the coefficients of what it adds, from degree 0 on. */
    private final double[][] added;

    /**
     * @param n the size of the first two runs; the others have twice and three times as much
     * @param at what was recorded at the three sizes, which are alike
     */
    private PeakModel(long n, List<Runs> at) {
        runs = at.getFirst();
        final List<List<Event>> events = at.stream()
                .map(two -> Stream.concat(two.first().stream(), two.second().stream())
                        .toList())
                .toList();
        added = new double[events.getFirst().size()][];
        for (int i = 0; i < added.length; i++) {
            final double one = events.get(0).get(i).bytes();
            final double two = events.get(1).get(i).bytes();
            final double three = events.get(2).get(i).bytes();
            final double bend = three - 2 * two + one;
            final boolean isStraight = Math.abs(bend) <= Math.max(ROUNDING, NEGLIGIBLE * Math.abs(three));
            final double square = isStraight ? 0 : bend / (2.0 * n * n);
            final double slope = (three - one) / (2.0 * n) - 4 * square * n;
            added[i] = new double[] {one - slope * n - square * n * n, slope, square};
        }
    }

    /** Fits runs; empty if they differ in more than the sizes of blocks. */
    static Optional<PeakModel> of(long n, List<Runs> at) {
        return at.stream().allMatch(at.getFirst()::areLike) ? Optional.of(new PeakModel(n, at)) : Optional.empty();
    }

    /** Returns the polynomial of the bytes in use at the event with the peak at n: coefficients from degree 0 on. */
    double[] polynomial(long n) {
        final double[] sum = {runs.loaded(), 0, 0};
        double[] most = {runs.loadedPeak(), 0, 0};
        for (final double[] event : added) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] += event[i];
            }
            if (value(sum, n) > value(most, n)) {
                most = sum.clone();
            }
        }
        return most;
    }

    /** Returns whether the peak at n of a larger run is as predicted. */
    boolean predicts(long n, Runs run) {
        return Math.abs(peak(n) - run.peak()) <= TOLERANCE * (run.peak() - runs.peak());
    }

    /** Returns the peak at n, in bytes. */
    long peak(long n) {
        return Math.round(value(polynomial(n), n));
    }

    private static double value(double[] polynomial, long n) {
        return polynomial[0] + polynomial[1] * n + polynomial[2] * n * n;
    }
}
