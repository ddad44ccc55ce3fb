package allocator.bench;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * The time that processors spent for an operation, of the whole process and of its Java threads alone. Where a machine
 * is shared, it says more than the time that passed; where threads wait for one another, it says less.
 */
public final class CpuTimeProfiler implements InternalProfiler {
    /** The processor time of the process, which the system counts in steps of 10 ms. */
    static final String PROCESS_RESULT = "cpu.norm";

    /** The processor time of the Java threads, without that of compilers and collectors. */
    public static final String THREADS_RESULT = "cpu.threads.norm";

    private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    private long processBefore;
    private long threadsBefore;

    /** Makes the profiler; called by JMH. */
    public CpuTimeProfiler() {}

    @Override
    public String getDescription() {
        return "processor time of the process and of its Java threads per operation";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        processBefore = system.getProcessCpuTime();
        threadsBefore = threadNanos();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        final long threadNanos = threadNanos() - threadsBefore;
        final long processNanos = system.getProcessCpuTime() - processBefore;
        final long operations = result.getMetadata().getAllOps();
        return List.of(
                perOperation(PROCESS_RESULT, processNanos, operations),
                perOperation(THREADS_RESULT, threadNanos, operations));
    }

    private static ScalarResult perOperation(String name, long nanos, long operations) {
        return new ScalarResult(name, (double) nanos / operations, "ns/op", AggregationPolicy.AVG);
    }

    /** JMH's threads live from the first iteration to the last, so none that ended is missing. */
    private long threadNanos() {
        return Arrays.stream(threads.getThreadCpuTime(threads.getAllThreadIds()))
                .filter(nanos -> nanos > 0)
                .sum();
    }
}
