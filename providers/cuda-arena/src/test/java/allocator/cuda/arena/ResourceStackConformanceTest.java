package allocator.cuda.arena;

import allocator.conformance.ConformanceSettings;
import allocator.cuda.testkit.SimulatedConformance;
import allocator.provider.support.budget.Budget;
import allocator.resource.AllocatorResource;
import allocator.resource.FailureCallbackResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceAllocator;
import allocator.resource.StatisticsResource;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.TraceLog;
import allocator.spi.Allocator;
import allocator.testkit.DecoratedFactory;
import java.io.Writer;
import org.junit.jupiter.api.Tag;

/**
 * Stacks over the arenas of two devices whose streams lag keep the whole contract, with each driver call failing in
 * turn.
 */
@Tag("thorough")
class ResourceStackConformanceTest extends SimulatedConformance {
    ResourceStackConformanceTest() {
        super(2, driver -> new DecoratedFactory(new CudaArenaFactory(driver), ResourceStackConformanceTest::over));
    }

    private static Allocator over(Allocator allocator) {
        final MemoryResource bottom = new AllocatorResource(allocator);
        final MemoryResource logged = new LoggingResource(bottom, new TraceLog(Writer.nullWriter()));
        final MemoryResource tracked = LeakTrackingResource.full(new StatisticsResource(logged));
        final MemoryResource charged = new BudgetResource(tracked, Budget.of("all", Budget.UNLIMITED));
        return ResourceAllocator.of(
                new FailureCallbackResource(new RequestBudgetResource(charged), 1, (failure, attempt) -> false));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
