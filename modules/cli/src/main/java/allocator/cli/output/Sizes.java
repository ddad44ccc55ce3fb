package allocator.cli.output;

import java.util.Locale;

/** Formats numbers for people to read. */
public final class Sizes {
    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

    private Sizes() {}

    /**
     * {@return a text of four significant digits and a unit, such as {@code 541.0 MiB}}
     *
     * @param bytes the size
     */
    public static String human(long bytes) {
        double value = bytes;
        int unit = 0;
        while (Math.abs(value) >= 1023.95 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        if (unit == 0) {
            return bytes + " B";
        }
        final int decimals = Math.abs(value) < 9.995 ? 2 : 1;
        return String.format(Locale.ROOT, "%." + decimals + "f %s", value, UNITS[unit]);
    }

    /** {@return a text of all digits in groups of three} */
    public static String exact(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    /** {@return a text of whole nanoseconds without the unit; a dash if not measured} */
    public static String nanos(double nanos) {
        return Double.isNaN(nanos) ? "-" : String.format(Locale.ROOT, "%,.0f", nanos);
    }

    /** {@return a text of nanoseconds in the unit that keeps the number short; a dash if not measured} */
    public static String time(double nanos) {
        if (Double.isNaN(nanos)) {
            return "-";
        }
        if (nanos < 9_999.5) {
            return String.format(Locale.ROOT, "%.0f ns", nanos);
        }
        return nanos < 999_950
                ? String.format(Locale.ROOT, "%.1f µs", nanos / 1e3)
                : String.format(Locale.ROOT, "%.1f ms", nanos / 1e6);
    }

    /** {@return a text of a ratio with two decimals; a dash if it is not defined} */
    public static String ratio(double ratio) {
        return Double.isNaN(ratio) ? "-" : String.format(Locale.ROOT, "%.2f", ratio);
    }

    /**
     * {@return the words for a number of things, such as {@code 1 block} or {@code 2,000 blocks}}
     *
     * @param count the number
     * @param what one of them; several have an s at the end
     */
    public static String count(long count, String what) {
        return exact(count) + " " + what + (count == 1 ? "" : "s");
    }
}
