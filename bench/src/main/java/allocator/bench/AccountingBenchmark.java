package allocator.bench;

import allocator.provider.support.budget.Budget;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Charging 4000 bytes and releasing them, without any memory behind it: budgets beside the accountants of Apache
 * Arrow's allocators, on one level and as a child of another, by one thread each.
 *
 * <p>Arrow adds first and compares then, level by level, so that a charge that is refused in the end can have others
 * refused that would fit. Its {@code forceAllocate} does these sums and grants in any case.
 *
 * <pre>
 * ./run-bench AccountingBenchmark -f 3 -wi 5 -i 10 -w 500ms -r 500ms
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 3, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class AccountingBenchmark {
    private static final long BYTE_SIZE = 4000;
    private static final long LIMIT = 1L << 40;

    private final Budget budget = Budget.of("all", LIMIT);
    private final Budget child = Budget.of("all", LIMIT).child("tenant", LIMIT / 2);
    private final BufferAllocator arrow = new RootAllocator(LIMIT);
    private final BufferAllocator arrowChild = arrow.newChildAllocator("tenant", 0, LIMIT / 2);

    /** Gives Arrow's allocators back. */
    @TearDown
    public void close() {
        arrowChild.close();
        arrow.close();
    }

    private static boolean pair(Budget charged) {
        final boolean fits = charged.tryCharge(BYTE_SIZE);
        charged.release(BYTE_SIZE);
        return fits;
    }

    private static boolean pair(BufferAllocator charged) {
        final boolean fits = charged.forceAllocate(BYTE_SIZE);
        charged.releaseBytes(BYTE_SIZE);
        return fits;
    }

    @Benchmark
    public boolean budget() {
        return pair(budget);
    }

    @Benchmark
    public boolean budgetChild() {
        return pair(child);
    }

    @Benchmark
    public boolean arrow() {
        return pair(arrow);
    }

    @Benchmark
    public boolean arrowChild() {
        return pair(arrowChild);
    }
}
