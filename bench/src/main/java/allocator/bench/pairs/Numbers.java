package allocator.bench.pairs;

import java.util.Locale;

/** How figures are written. */
final class Numbers {
    private Numbers() {}

    /** Two or three digits, or all before the point where there are more; nothing for {@link Double#NaN}. */
    static String text(double value) {
        if (Double.isNaN(value)) {
            return "";
        }
        final double size = Math.abs(value);
        if (size >= 99.95) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        if (size < 0.0005) {
            return "0";
        }
        return String.format(Locale.ROOT, size >= 9.995 ? "%.1f" : size >= 0.0995 ? "%.2f" : "%.3f", value);
    }

    /** Without an exponent, and without digits that say nothing. */
    static String csv(double value) {
        return value == Math.rint(value)
                ? String.format(Locale.ROOT, "%.0f", value)
                : String.format(Locale.ROOT, "%.4f", value);
    }
}
