package allocator.spi;

/** Sizes as text for people. */
final class ByteSizes {
    private static final String UNITS = "KMGTPE";

    private ByteSizes() {}

    /** Returns a size with the exact bytes: {@code 24.0 MiB (25,165,824 bytes)}, {@code 100 bytes}. */
    static String describe(long bytes) {
        final String exact = grouped(bytes) + " bytes";
        if (bytes < 1024) {
            return exact;
        }
        int unit = (63 - Long.numberOfLeadingZeros(bytes)) / 10;
        long tenths = tenths(bytes, unit);
        if (tenths == 10 * 1024 && unit < UNITS.length()) {
            unit++;
            tenths = tenths(bytes, unit);
        }
        return tenths / 10 + "." + tenths % 10 + " " + UNITS.charAt(unit - 1) + "iB (" + exact + ")";
    }

    /** Returns tenths of a unit, rounded. */
    private static long tenths(long bytes, int unit) {
        final int shift = 10 * unit;
        final long whole = bytes >>> shift;
        return whole * 10 + (((bytes - (whole << shift)) * 10 + (1L << (shift - 1))) >>> shift);
    }

    private static String grouped(long number) {
        final StringBuilder digits = new StringBuilder(Long.toString(number));
        final int first = number < 0 ? 1 : 0;
        for (int i = digits.length() - 3; i > first; i -= 3) {
            digits.insert(i, ',');
        }
        return digits.toString();
    }
}
