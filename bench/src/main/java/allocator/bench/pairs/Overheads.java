package allocator.bench.pairs;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import org.HdrHistogram.Histogram;

/**
 * What measuring itself takes: asking the clock twice, and calling a native function that does next to nothing
 * (processor time).
 *
 * <p>Argument: file for the results.
 */
public final class Overheads {
    /** What stands for the subject and the workload of these figures. */
    static final String NAME = "overhead";

    private static final int CALLS = 2_000_000;
    private static final int ROUNDS = 5;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final MethodHandle ABS = abs();
    private static final MethodHandle CRITICAL_ABS = abs(Linker.Option.critical(false));

    private Overheads() {}

    @SuppressWarnings("restricted")
    private static MethodHandle abs(Linker.Option... options) {
        final Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("abs"),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT),
                options);
    }

    /**
     * Measures.
     *
     * @param args as above
     * @throws Throwable if a call fails
     */
    public static void main(String[] args) throws Throwable {
        final Output output = Output.to(Path.of(args[0]));
        final Histogram clock = Measurement.histogram();
        for (int round = 0; round < ROUNDS; round++) {
            final boolean isWarm = round > 0;
            clock.reset();
            for (int i = 0; i < CALLS; i++) {
                final long begin = System.nanoTime();
                clock.recordValue(System.nanoTime() - begin);
            }
            final double downcall = downcall();
            final double critical = criticalDowncall();
            if (isWarm) {
                output.add(NAME, 1, Metric.DOWNCALL_NS, downcall);
                output.add(NAME, 1, Metric.CRITICAL_DOWNCALL_NS, critical);
            }
        }
        output.add(NAME, 1, clock);
    }

    private static double downcall() throws Throwable {
        long sum = 0;
        final long begin = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < CALLS; i++) {
            sum += (int) ABS.invokeExact(-i);
        }
        return perCall(begin, sum);
    }

    private static double criticalDowncall() throws Throwable {
        long sum = 0;
        final long begin = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < CALLS; i++) {
            sum += (int) CRITICAL_ABS.invokeExact(-i);
        }
        return perCall(begin, sum);
    }

    private static double perCall(long begin, long sum) {
        final double nanos = THREADS.getCurrentThreadCpuTime() - begin;
        if (sum != (long) CALLS * (CALLS - 1) / 2) {
            throw new IllegalStateException("abs is not called");
        }
        return nanos / CALLS;
    }
}
