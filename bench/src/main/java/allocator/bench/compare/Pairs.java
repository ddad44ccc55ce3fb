package allocator.bench.compare;

import allocator.bench.report.Statistics;
import java.util.ArrayList;
import java.util.List;

/** The measurements of one cell: for each pair of JVMs, the times of windows that were played in turn. */
final class Pairs {
    private final List<Double> nanosOfA = new ArrayList<>();
    private final List<Double> nanosOfB = new ArrayList<>();
    private final List<Double> ratios = new ArrayList<>();

    /**
     * Adds a pair of JVMs. Its ratio is the median of the ratios of its windows: the windows at one index were played
     * one right after the other, so a disturbance that lasts longer is in both of them.
     */
    void add(List<Double> windowsOfA, List<Double> windowsOfB) {
        if (windowsOfA.isEmpty() || windowsOfA.size() != windowsOfB.size()) {
            throw new IllegalArgumentException(
                    windowsOfA.size() + " values cannot be paired with " + windowsOfB.size());
        }
        final List<Double> windowRatios = new ArrayList<>();
        for (int i = 0; i < windowsOfA.size(); i++) {
            windowRatios.add(windowsOfB.get(i) / windowsOfA.get(i));
        }
        nanosOfA.add(Statistics.median(windowsOfA));
        nanosOfB.add(Statistics.median(windowsOfB));
        ratios.add(Statistics.median(windowRatios));
    }

    int count() {
        return ratios.size();
    }

    double medianOfA() {
        return Statistics.median(nanosOfA);
    }

    double medianOfB() {
        return Statistics.median(nanosOfB);
    }

    /** The ratio of the pair that was added last. */
    double lastRatio() {
        return ratios.getLast();
    }

    Ratio ratio() {
        return Ratio.of(ratios);
    }

    Verdict verdict(double threshold) {
        return Verdict.of(ratio(), threshold);
    }
}
