package allocator.resource;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.log.TraceLog;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.io.Writer;
import java.util.Optional;

/** Puts every decorator on a resource. None of them changes a request. */
final class EveryDecorator {
    private EveryDecorator() {}

    static MemoryResource over(MemoryResource bottom) {
        final MemoryResource traced = new LoggingResource(bottom, new TraceLog(Writer.nullWriter()));
        final MemoryResource logged = new LoggingResource(traced, new RmmLog(Writer.nullWriter()));
        final MemoryResource flaky = new FaultInjectionResource(logged, (byteSize, request) -> false);
        final MemoryResource tracked =
                LeakTrackingResource.full(LeakTrackingResource.sampled(new StatisticsResource(flaky), 2));
        final MemoryResource charged = new BudgetResource(tracked, Budget.of("all", Budget.UNLIMITED));
        final MemoryResource retried =
                new FailureCallbackResource(new RequestBudgetResource(charged), 1, (failure, attempt) -> true);
        final MemoryResource either = new FallbackResource(retried, new Full(bottom));
        return new AlignedResource(either, either.memory().byteAlignment());
    }

    /** Memory without room, which says so. */
    private record Full(MemoryResource like) implements MemoryResource {
        @Override
        public MemoryInfo memory() {
            return like.memory();
        }

        @Override
        public MemoryKind kind() {
            return like.kind();
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            throw new OutOfMemoryException("There is no room", Shortage.ofDevice(memory(), byteSize, 0));
        }

        @Override
        public void deallocate(long address, long byteSize, long byteAlignment) {
            throw new IllegalStateException("nothing was allocated");
        }

        @Override
        public Optional<AllocatorStats> stats() {
            return Optional.of(new AllocatorStats.Builder().limit(0).build());
        }
    }
}
