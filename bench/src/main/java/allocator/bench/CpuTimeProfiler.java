package allocator.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
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
 * The time that processors spent for an operation, the whole process counted. Where a machine is shared, it says more
 * than the time that passed; where threads wait for one another, it says less.
 */
public final class CpuTimeProfiler implements InternalProfiler {
    /** The name of the result. */
    static final String RESULT = "cpu.norm";

    private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private long before;

    /** Makes the profiler; called by JMH. */
    public CpuTimeProfiler() {}

    @Override
    public String getDescription() {
        return "processor time of the process per operation";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = system.getProcessCpuTime();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        final double nanos = system.getProcessCpuTime() - before;
        return List.of(
                new ScalarResult(RESULT, nanos / result.getMetadata().getAllOps(), "ns/op", AggregationPolicy.AVG));
    }
}
