package allocator.bench.compare;

import java.util.Locale;
import java.util.Map;

/** The result of a comparison as text. */
final class Table {
    private Table() {}

    static String of(Map<Cell, Pairs> measured, double threshold) {
        final StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT,
                "%-14s %-16s %9s %9s %6s %7s %18s  %s%n",
                "workload",
                "subject",
                "A ns",
                "B ns",
                "pairs",
                "B / A",
                Ratio.PERCENT + " % interval",
                "verdict"));
        measured.forEach((cell, pairs) -> {
            final Ratio ratio = pairs.ratio();
            text.append(String.format(
                    Locale.ROOT,
                    "%-14s %-16s %9.1f %9.1f %6d %7.3f %18s  %s%n",
                    cell.workload(),
                    cell.subjectText(),
                    pairs.medianOfA(),
                    pairs.medianOfB(),
                    pairs.count(),
                    ratio.value(),
                    interval(ratio),
                    pairs.verdict(threshold)));
        });
        return text.toString();
    }

    private static String interval(Ratio ratio) {
        return Double.isFinite(ratio.high())
                ? String.format(Locale.ROOT, "[%.3f, %.3f]", ratio.low(), ratio.high())
                : "too few pairs";
    }
}
