package allocator.bench.compare;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Paired measurements of cells, each pair with a new JVM of each side. The next pair is always of the undecided cell
 * that has had the fewest. The two JVMs play windows in turn, and the first of two windows is each side's equally
 * often; which side plays the very first window is random in every other pair of a cell and the opposite in the pair
 * after it. The two JVMs compile at the same thresholds, which are others in each pair.
 *
 * <p>There may be several lanes, which measure pairs side by side.
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

    private final SplittableRandom random = new SplittableRandom(SEED);
    private final CompileThresholds thresholds = new CompileThresholds(random.split());

    // Guarded by this object
    private final List<Row> rows = new ArrayList<>();
    private boolean hasFailed;

    /** A cell, and what was measured of it. */
    private static final class Row {
        private final Cell cell;
        private final Pairs pairs = new Pairs();
        private int begun;
        private boolean isAFirst;

        Row(Cell cell) {
            this.cell = cell;
        }

        int begun() {
            return begun;
        }
    }

    /** A pair to measure. */
    private record Turn(Row row, int number, boolean isAFirst, List<String> jvmOptions) {}

    /**
     * Prepares measurements.
     *
     * @param fewestPairs how many pairs a cell has at least before it is decided
     * @param isTimeUp whether to stop, decided or not; called before each pair
     */
    PairedRuns(Meter a, Meter b, double threshold, int fewestPairs, BooleanSupplier isTimeUp, PrintStream progress) {
        this.a = a;
        this.b = b;
        this.threshold = threshold;
        this.fewestPairs = Math.max(fewestPairs, Ratio.FEWEST_PAIRS);
        this.isTimeUp = isTimeUp;
        this.progress = progress;
    }

    /**
     * Measures until each cell is decided or the time is up.
     *
     * @param lanes how many pairs are measured side by side
     */
    Map<Cell, Pairs> measure(List<Cell> cells, int lanes)
            throws SideFailedException, IOException, InterruptedException {
        cells.forEach(cell -> rows.add(new Row(cell)));
        try (ExecutorService executor = Executors.newFixedThreadPool(lanes)) {
            final List<Future<Void>> ends = new ArrayList<>();
            for (int i = 0; i < lanes; i++) {
                final int lane = i;
                ends.add(executor.submit((Callable<Void>) () -> {
                    measureIn(lane);
                    return null;
                }));
            }
            for (final Future<Void> end : ends) {
                end.get();
            }
        } catch (ExecutionException e) {
            throw unwrapped(e.getCause());
        }
        final Map<Cell, Pairs> measured = new LinkedHashMap<>();
        rows.forEach(row -> measured.put(row.cell, row.pairs));
        return measured;
    }

    private static IllegalStateException unwrapped(@Nullable Throwable cause) throws SideFailedException, IOException {
        return switch (cause) {
            case SideFailedException e -> throw e;
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> new IllegalStateException(cause);
        };
    }

    private void measureIn(int lane) throws SideFailedException, IOException, InterruptedException {
        boolean isDone = false;
        try {
            for (Turn turn = next(); turn != null; turn = next()) {
                measure(turn, lane);
            }
            isDone = true;
        } finally {
            if (!isDone) {
                fail();
            }
        }
    }

    /** Ends the other lanes after their pair. */
    private synchronized void fail() {
        hasFailed = true;
    }

    private synchronized @Nullable Turn next() {
        final Row row = rows.stream()
                .filter(each -> !isDecided(each))
                .min(Comparator.comparingInt(Row::begun))
                .orElse(null);
        if (row == null || hasFailed || isTimeUp.getAsBoolean()) {
            return null;
        }
        row.begun++;
        row.isAFirst = row.begun % 2 == 1 ? random.nextBoolean() : !row.isAFirst;
        return new Turn(row, row.begun, row.isAFirst, thresholds.draw());
    }

    private boolean isDecided(Row row) {
        return row.pairs.count() >= fewestPairs && row.pairs.verdict(threshold) != Verdict.UNDECIDED;
    }

    private void measure(Turn turn, int lane) throws SideFailedException, IOException, InterruptedException {
        final List<Double> windowsOfA = new ArrayList<>();
        final List<Double> windowsOfB = new ArrayList<>();
        final Cell cell = turn.row.cell;
        try (Meter.Sampler ofA = a.open(cell, turn.jvmOptions, lane);
                Meter.Sampler ofB = b.open(cell, turn.jvmOptions, lane)) {
            ofA.awaitReady();
            ofB.awaitReady();
            for (int i = 0; i < WINDOWS; i++) {
                if (turn.isAFirst == (i % 2 == 0)) {
                    windowsOfA.add(ofA.nextNanos());
                    windowsOfB.add(ofB.nextNanos());
                } else {
                    windowsOfB.add(ofB.nextNanos());
                    windowsOfA.add(ofA.nextNanos());
                }
            }
        }
        synchronized (this) {
            turn.row.pairs.add(windowsOfA, windowsOfB);
            progress.printf(
                    Locale.ROOT,
                    "pair %d, %s, %s: %.3f%n",
                    turn.number,
                    cell.workload(),
                    cell.subjectText(),
                    turn.row.pairs.lastRatio());
        }
    }
}
