package allocator.view;

import java.util.Locale;

/** Sizes for people: three digits and a unit, with the exact bytes where they count. */
final class ByteText {
    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

    private ByteText() {}

    static String of(long bytes) {
        if (bytes < 1024) {
            return bytes + " B";
        }
        int unit = 0;
        double value = bytes;
        while (value >= 1023.5 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        final int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        return String.format(Locale.ROOT, "%." + decimals + "f %s", value, UNITS[unit]);
    }

    static String exact(long bytes) {
        return of(bytes) + String.format(Locale.ROOT, " (%,d bytes)", bytes);
    }
}
