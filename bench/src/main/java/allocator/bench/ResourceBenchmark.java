package allocator.bench;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.resource.Access;
import allocator.resource.AllocatorResource;
import allocator.resource.Budget;
import allocator.resource.BudgetResource;
import allocator.resource.LeakTrackingResource;
import allocator.resource.MemoryResource;
import allocator.resource.StatisticsResource;
import allocator.resource.StreamEvents;
import allocator.resource.TrackedBlock;
import allocator.resource.TrackedMemory;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What each decorator adds to an allocation and its deallocation over a filled arena, and what preparing and finishing a
 * use of a tracked block costs when nothing has to be waited for and an event costs nothing.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class ResourceBenchmark {
    private static final long BYTE_SIZE = 4000;

    private final MemoryResource arena = new AllocatorResource(
            new ArenaAllocator(new BfcArena(new AddressSource(), ArenaConfig.DEFAULT), AllocatorOptions.EMPTY));
    private final MemoryResource budget = new BudgetResource(arena, Budget.of("all", 1L << 40));
    private final MemoryResource child = new BudgetResource(
            arena, Budget.of("all", 1L << 40).child("tenant", 1L << 39).child("task", 1L << 38));
    private final MemoryResource statistics = new StatisticsResource(arena);
    private final MemoryResource sampled = LeakTrackingResource.sampled(arena, 1 << 14);
    private final MemoryResource full = new BudgetResource(new StatisticsResource(arena), Budget.of("all", 1L << 40));
    private final SyncStream stream = new IdleStream();
    private final TrackedMemory tracked = new TrackedMemory(arena, new FreeEvents(), Budget.of("all", 1L << 40));
    private final TrackedBlock block = tracked.allocate(BYTE_SIZE, stream, "bench");

    /** A stream that does nothing. */
    private static final class IdleStream extends SyncStream {
        IdleStream() {
            super(new AddressSource().info());
        }

        @Override
        public long handle() {
            return 1;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
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
    public long arena() {
        return pair(arena);
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
