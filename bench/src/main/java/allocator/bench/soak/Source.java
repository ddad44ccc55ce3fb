package allocator.bench.soak;

import allocator.bench.report.Machine;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;

/** A kind of memory that a process takes. */
enum Source {
    /** Resident, after {@code malloc} has given back the free pages between blocks. */
    RESIDENT("resident", true),
    /** What lives on the Java heap. */
    JAVA_HEAP("Java heap", true),
    /** Compiled code and classes. Code is compiled for as long as the JVM works. */
    CODE("code, classes", false);

    /** Growth by a hundredth is flat, and so is less than a MiB. */
    private static final int FLAT = 100;

    private static final long LEAST_KIBIBYTES = 1 << 10;
    private static final int PARTS = 3;

    private final String text;
    private final boolean isJudged;

    Source(String text, boolean isJudged) {
        this.text = text;
        this.isJudged = isJudged;
    }

    /** Returns how many KiB there are, after a collection of the Java heap. */
    long kibibytes() throws IOException {
        return switch (this) {
            case RESIDENT -> {
                CLibrary.trim();
                yield Machine.kibibytes("VmRSS:");
            }
            case JAVA_HEAP ->
                ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 10;
            case CODE ->
                ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage().getUsed() >> 10;
        };
    }

    /**
     * Returns whether it has grown: the median of the last third of its samples over that of the second. The first
     * third does not count, in which code is compiled and tables find their size.
     *
     * @param samples in KiB, three or more
     */
    boolean isFlat(List<Long> samples) {
        return after(samples) - before(samples) <= Math.max(LEAST_KIBIBYTES, before(samples) / FLAT);
    }

    /** Whether it has to stay as it is, and did not. The others only show what grew. */
    boolean isLeak(List<Long> samples) {
        return isJudged && !isFlat(samples);
    }

    /** What the samples say. */
    String verdict(List<Long> samples) {
        return String.format(
                Locale.ROOT,
                "%s: %d KiB, then %d KiB, %s",
                text,
                before(samples),
                after(samples),
                isLeak(samples) ? "NOT FLAT" : isJudged ? "flat" : "not judged");
    }

    private static long before(List<Long> samples) {
        final int part = samples.size() / PARTS;
        return median(samples.subList(samples.size() - 2 * part, samples.size() - part));
    }

    private static long after(List<Long> samples) {
        return median(samples.subList(samples.size() - samples.size() / PARTS, samples.size()));
    }

    private static long median(List<Long> samples) {
        return samples.stream().sorted().toList().get(samples.size() / 2);
    }

    @Override
    public String toString() {
        return text;
    }
}
