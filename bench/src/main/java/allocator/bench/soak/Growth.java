package allocator.bench.soak;

import java.util.List;

/**
 * How a process's memory of one kind has grown: the median of the last third of its samples over that of the second.
 * The first third does not count, in which code is compiled and tables find their size.
 *
 * @param source what was sampled
 * @param before the median of the second third, in KiB
 * @param after the median of the last third, in KiB
 */
record Growth(Source source, long before, long after) {
    /** Growth by a hundredth is flat, and so is less than a MiB. */
    private static final int FLAT = 100;

    private static final long LEAST = 1 << 10;
    private static final int PARTS = 3;

    /** Computes the growth from samples in KiB, three or more. */
    static Growth of(Source source, List<Long> samples) {
        final int part = samples.size() / PARTS;
        if (part == 0) {
            throw new IllegalArgumentException(samples.size() + " samples; " + PARTS + " at least are needed");
        }
        final int end = samples.size();
        return new Growth(
                source, median(samples.subList(end - 2 * part, end - part)), median(samples.subList(end - part, end)));
    }

    private static long median(List<Long> samples) {
        return samples.stream().sorted().toList().get(samples.size() / 2);
    }

    boolean isFlat() {
        return after - before <= Math.max(LEAST, before / FLAT);
    }

    /** Whether it is a leak: of a source that has to stay as it is, and did not. */
    boolean isLeak() {
        return source.isJudged() && !isFlat();
    }

    @Override
    public String toString() {
        final String verdict = isLeak() ? "NOT FLAT" : source.isJudged() ? "flat" : "not judged";
        return source + ": " + before + " KiB, then " + after + " KiB, " + verdict;
    }
}
