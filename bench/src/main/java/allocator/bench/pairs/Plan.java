package allocator.bench.pairs;

import java.util.List;
import java.util.stream.Stream;

/**
 * How long a cell of the table is measured in one round.
 *
 * @param warmUpMillis what runs at least before it counts
 * @param rivalWarmUpMillis the same for a rival: glibc's malloc becomes faster for seconds, as it adapts and its heap
 *     grows
 * @param quietMillis how long the compiler must have had nothing to do before it counts
 * @param windows how many samples are taken
 * @param windowMillis how long one is, at least; it ends with a unit of the workload
 * @param latencyMillis how long single operations are timed; 0 for not at all
 */
record Plan(
        int warmUpMillis, int rivalWarmUpMillis, int quietMillis, int windows, int windowMillis, int latencyMillis) {
    /** Of a run that is to be believed. */
    static final Plan USUAL = new Plan(150, 4000, 200, 5, 40, 60);

    /** Of a first look. */
    static final Plan QUICK = new Plan(100, 500, 150, 3, 20, 30);

    /** Of a turn in a JVM that JMH shares, which has a turn before that does not count. */
    static final Plan BESIDE_JMH = new Plan(1500, 1500, 200, 10, 60, 0);

    /** Of a JVM of a comparison, which ends when the comparison has windows enough. */
    static final Plan PAIRED = new Plan(200, 200, 250, 0, 15, 0);

    List<String> toArguments() {
        return Stream.of(warmUpMillis, rivalWarmUpMillis, quietMillis, windows, windowMillis, latencyMillis)
                .map(String::valueOf)
                .toList();
    }

    static Plan parse(List<String> arguments) {
        final int[] values = arguments.stream().mapToInt(Integer::parseInt).toArray();
        return new Plan(values[0], values[1], values[2], values[3], values[4], values[5]);
    }

    /** The plan in words. */
    String describe() {
        return "each cell in a JVM of its subject: warm-up until the compiler has rested for " + quietMillis
                + " ms of playing, of a rival at least " + rivalWarmUpMillis + " ms, " + windows + " samples of "
                + windowMillis + " ms" + (latencyMillis > 0 ? ", single operations for " + latencyMillis + " ms" : "");
    }
}
