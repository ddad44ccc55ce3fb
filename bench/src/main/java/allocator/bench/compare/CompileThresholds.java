package allocator.bench.compare;

import java.util.List;
import java.util.SplittableRandom;

/**
 * Options for when the optimizing compiler compiles a method.
 *
 * <p>What is compiled first decides what is inlined where, and that may change a time by a tenth. A build begins alike
 * in every JVM, so all of its JVMs are lucky or none is, which looks like a property of its code. With other thresholds
 * in every pair, and the same for both JVMs of a pair, it is noise, which the interval takes into account.
 */
record CompileThresholds(SplittableRandom random) {
    /** The thresholds are drawn between their defaults over this factor, and their defaults times it. */
    private static final double FACTOR = 2;

    /** Draws options for one pair of JVMs. */
    List<String> draw() {
        return List.of(
                option("Tier4InvocationThreshold", 5000),
                option("Tier4MinInvocationThreshold", 600),
                option("Tier4CompileThreshold", 15000),
                option("Tier4BackEdgeThreshold", 40000));
    }

    private String option(String name, int value) {
        return "-XX:" + name + "=" + Math.round(value * Math.pow(FACTOR, random.nextDouble(-1, 1)));
    }
}
