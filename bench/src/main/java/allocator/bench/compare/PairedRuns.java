package allocator.bench.compare;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Rounds of paired measurements. Each round measures every cell that is undecided, with a new JVM of each side. The two
 * JVMs play windows in turn, and the first of two windows is each side's equally often; which side plays the very first
 * window is random in every other round and the opposite in the round after it. The two JVMs compile at the same
 * thresholds, which are others in each pair.
 */
final class PairedRuns {
    private static final long SEED = 1;
    private static final int WINDOWS = 40;

    private final Meter a;
    private final Meter b;
    private final double threshold;
    private final int fewestPairs;
    private final BooleanSupplier isTimeUp;
    private final PrintStream progress;

    /**
     * Prepares rounds.
     *
     * @param fewestPairs how many pairs a cell has at least before it is decided
     * @param isTimeUp whether to stop, decided or not; asked before each pair
     */
    PairedRuns(Meter a, Meter b, double threshold, int fewestPairs, BooleanSupplier isTimeUp, PrintStream progress) {
        this.a = a;
        this.b = b;
        this.threshold = threshold;
        this.fewestPairs = Math.max(fewestPairs, Ratio.FEWEST_PAIRS);
        this.isTimeUp = isTimeUp;
        this.progress = progress;
    }

    /** Measures until each cell is decided or the time is up. */
    Map<Cell, Pairs> measure(List<Cell> cells) throws SideFailedException, IOException, InterruptedException {
        final Map<Cell, Pairs> measured = new LinkedHashMap<>();
        cells.forEach(cell -> measured.put(cell, new Pairs()));
        final SplittableRandom random = new SplittableRandom(SEED);
        final List<Map.Entry<Cell, Pairs>> open = new ArrayList<>(measured.entrySet());
        final CompileThresholds thresholds = new CompileThresholds(random.split());
        boolean isAFirst = false;
        for (int round = 1; !open.isEmpty(); round++) {
            isAFirst = round % 2 == 1 ? random.nextBoolean() : !isAFirst;
            for (final Map.Entry<Cell, Pairs> row : open) {
                if (isTimeUp.getAsBoolean()) {
                    return measured;
                }
                measure(round, row.getKey(), thresholds.draw(), isAFirst, row.getValue());
            }
            open.removeIf(row -> isDecided(row.getValue()));
        }
        return measured;
    }

    private boolean isDecided(Pairs pairs) {
        return pairs.count() >= fewestPairs && pairs.verdict(threshold) != Verdict.UNDECIDED;
    }

    private void measure(int round, Cell cell, List<String> jvmOptions, boolean isAFirst, Pairs pairs)
            throws SideFailedException, IOException, InterruptedException {
        final List<Double> windowsOfA = new ArrayList<>();
        final List<Double> windowsOfB = new ArrayList<>();
        try (Meter.Sampler ofA = a.open(cell, jvmOptions);
                Meter.Sampler ofB = b.open(cell, jvmOptions)) {
            ofA.awaitReady();
            ofB.awaitReady();
            for (int i = 0; i < WINDOWS; i++) {
                if (isAFirst == (i % 2 == 0)) {
                    windowsOfA.add(ofA.nextNanos());
                    windowsOfB.add(ofB.nextNanos());
                } else {
                    windowsOfB.add(ofB.nextNanos());
                    windowsOfA.add(ofA.nextNanos());
                }
            }
        }
        pairs.add(windowsOfA, windowsOfB);
        progress.printf(
                Locale.ROOT, "round %d, %s, %s: %.3f%n", round, cell.workload(), cell.subjectText(), pairs.lastRatio());
    }
}
