package allocator.bench.scale;

import java.util.List;
import java.util.Locale;

/**
 * What an operation costs beside few, more and many.
 *
 * @param operation what is done
 * @param nanos at {@code N / 100}, {@code N / 10} and {@code N}
 */
record Costs(String operation, List<Double> nanos) {
    /** Between the costs of neighbours lies this factor in the number. */
    static final int STEP = 10;

    /** A cost that grows as {@code N} to this power or faster is said to grow with the number. Caches cost less. */
    private static final double MOST_POWER = 0.7;

    /** The exponent {@code p} for which the cost grows as {@code N} to the {@code p}, over the steeper step. */
    double power() {
        double steepest = Double.NEGATIVE_INFINITY;
        for (int i = 1; i < nanos.size(); i++) {
            steepest = Math.max(steepest, Math.log10(nanos.get(i) / nanos.get(i - 1)) / Math.log10(STEP));
        }
        return steepest;
    }

    boolean growsWithNumber() {
        return power() > MOST_POWER;
    }

    /** A row of a table in Markdown. */
    String toRow() {
        final StringBuilder row = new StringBuilder("| " + operation + " |");
        for (final double cost : nanos) {
            row.append(String.format(Locale.ROOT, cost < 100 ? " %,.1f |" : " %,.0f |", cost));
        }
        return row.append(String.format(Locale.ROOT, " %.2f%s |", power(), growsWithNumber() ? " **grows**" : ""))
                .toString();
    }
}
