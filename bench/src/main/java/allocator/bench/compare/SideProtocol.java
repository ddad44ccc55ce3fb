package allocator.bench.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The text between {@code bench/compare} and {@code bench/side}: the only thing that two commits must share.
 *
 * <p>The side prints {@link #HEADER} and then lines of a key, a space and a value. In reply to {@code list} these are
 * {@code subject NAME} and {@code workload NAME}. In reply to {@code measure} it warms the subject up and prints
 * {@code ready}; for each line that it reads it plays one window and prints {@code nanos NUMBER}; at the end of its
 * input it ends. Lines that begin otherwise are ignored, such as warnings of the JVM. The number in the header changes
 * with the meaning of a line.
 */
final class SideProtocol {
    /** The name and version of the protocol. */
    static final String HEADER = "bench-side 1";

    /** What a side prints once its subject is warmed up. */
    static final String READY = "ready";

    /** What a side reads: one line for each window. */
    static final String WINDOW = "window";

    /** The key of a time. */
    static final String NANOS = "nanos";

    private static final String SUBJECT = "subject";
    private static final String WORKLOAD = "workload";

    private SideProtocol() {}

    /** What a side can measure. */
    record Offer(List<String> subjects, List<String> workloads) {}

    static String toText(Offer offer) {
        final List<String> lines = new ArrayList<>();
        lines.add(HEADER);
        offer.subjects().forEach(name -> lines.add(SUBJECT + " " + name));
        offer.workloads().forEach(name -> lines.add(WORKLOAD + " " + name));
        return String.join("\n", lines) + "\n";
    }

    static Offer parseOffer(List<String> lines) throws SideFailedException {
        if (!lines.contains(HEADER)) {
            throw new SideFailedException("its bench/side does not print '" + HEADER + "'");
        }
        return new Offer(values(lines, SUBJECT), values(lines, WORKLOAD));
    }

    private static List<String> values(List<String> lines, String key) {
        return lines.stream()
                .filter(line -> isOf(key, line))
                .map(line -> line.substring(key.length()).strip())
                .toList();
    }

    /** Whether a line has that key. */
    static boolean isOf(String key, String line) {
        return line.equals(key) || line.startsWith(key + " ");
    }

    static String toLine(double nanos) {
        return String.format(Locale.ROOT, "%s %.4f", NANOS, nanos);
    }

    /** Returns the time in a line of {@link #NANOS}: a finite number above 0. */
    static double parseNanos(String line) throws SideFailedException {
        try {
            final double value = Double.parseDouble(line.substring(NANOS.length()));
            if (value > 0 && Double.isFinite(value)) {
                return value;
            }
        } catch (NumberFormatException e) {
            // As below.
        }
        throw new SideFailedException("its bench/side prints '" + line + "', which is not a time");
    }
}
