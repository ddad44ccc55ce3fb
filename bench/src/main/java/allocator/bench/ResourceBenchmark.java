package allocator.bench;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.bench.subject.IdleStream;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.MemoryKind;
import allocator.resource.MemoryResource;
import allocator.resource.StatisticsResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.tracked.Access;
import allocator.resource.tracked.StreamEvents;
import allocator.resource.tracked.TrackedBlock;
import allocator.resource.tracked.TrackedMemory;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What each decorator adds to an allocation and its deallocation, over a filled arena and over a resource that does
 * nothing, which shows the decorator alone; and what preparing and finishing a use of a tracked block costs when
 * nothing has to be waited for and an event costs nothing.
 *
 * <pre>
 * ./run-bench ResourceBenchmark -f 3 -wi 5 -i 10 -w 500ms -r 500ms -prof gc
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class ResourceBenchmark {
    private static final long BYTE_SIZE = 4000;
    private static final long LIMIT = 1L << 40;

    /** What the stacks stand on. */
    @Param({"arena", "nothing"})
    public String bottom = "arena";

    private MemoryResource upstream = new Nothing();
    private MemoryResource budget = upstream;
    private MemoryResource child = upstream;
    private MemoryResource statistics = upstream;
    private MemoryResource sampled = upstream;
    private MemoryResource full = upstream;
    private final SyncStream stream = new IdleStream(new AddressSource().info());
    private final TrackedMemory tracked = new TrackedMemory(new Nothing(), new FreeEvents(), Budget.of("all", LIMIT));
    private final TrackedBlock block = tracked.allocate(BYTE_SIZE, stream, "bench");

    /** Builds the stacks. */
    @Setup
    public void stack() {
        if (bottom.equals("arena")) {
            upstream = new AllocatorResource(
                    new ArenaAllocator(new BfcArena(new AddressSource(), ArenaConfig.DEFAULT), AllocatorOptions.EMPTY));
        }
        budget = new BudgetResource(upstream, Budget.of("all", LIMIT));
        child = new BudgetResource(
                upstream, Budget.of("all", LIMIT).child("tenant", LIMIT / 2).child("task", LIMIT / 4));
        statistics = new StatisticsResource(upstream);
        sampled = LeakTrackingResource.sampled(upstream, 1024);
        full = new BudgetResource(new StatisticsResource(upstream), Budget.of("all", LIMIT));
    }

    /** A resource that hands out addresses in turn and forgets them. */
    private static final class Nothing implements MemoryResource {
        private final MemoryInfo memory = new AddressSource().info();
        private long last;

        @Override
        public MemoryInfo memory() {
            return memory;
        }

        @Override
        public MemoryKind kind() {
            return MemoryKind.DEVICE;
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            last = (last & 0xFFFFFF) + 4096;
            return last;
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment) {}
    }

    /** Events that cost nothing. */
    private static final class FreeEvents implements StreamEvents {
        @Override
        public long record(SyncStream stream) {
            return 1;
        }

        @Override
        public void await(SyncStream stream, long event) {}

        @Override
        public boolean isDone(long event) {
            return true;
        }

        @Override
        public void release(long event) {}
    }

    private static long pair(MemoryResource resource) {
        final long address = resource.allocate(BYTE_SIZE, 256);
        resource.deallocate(address, BYTE_SIZE, 256);
        return address;
    }

    @Benchmark
    public long bare() {
        return pair(upstream);
    }

    @Benchmark
    public long budget() {
        return pair(budget);
    }

    @Benchmark
    public long budgetThreeLevels() {
        return pair(child);
    }

    @Benchmark
    public long statistics() {
        return pair(statistics);
    }

    @Benchmark
    public long leaksSampled() {
        return pair(sampled);
    }

    @Benchmark
    public long budgetStatistics() {
        return pair(full);
    }

    @Benchmark
    public void prepareAndFinish() {
        tracked.prepare(block, Access.WRITE, stream);
        tracked.finish(block, Access.WRITE, stream);
    }
}
