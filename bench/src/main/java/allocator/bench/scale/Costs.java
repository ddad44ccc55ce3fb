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
    private static final double MOST_POWER = 0.6;

    /** The exponent {@code p} for which the cost grows as {@code N} to the {@code p}, over the last step. */
    double power() {
        return Math.log10(nanos.getLast() / nanos.get(nanos.size() - 2)) / Math.log10(STEP);
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
