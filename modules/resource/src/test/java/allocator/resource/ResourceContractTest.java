package allocator.resource;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.resource.leak.LeakTrackingResource;
import allocator.resource.log.LoggingResource;
import allocator.resource.log.RmmLog;
import allocator.resource.log.TraceLog;
import java.io.StringWriter;
import org.junit.jupiter.api.Nested;

/** Every stack of resources over host memory keeps the contract. */
class ResourceContractTest {
    @Nested
    class Host extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return bottom;
        }
    }

    @Nested
    class Budgeted extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new BudgetResource(bottom, Budget.of("all", Budget.UNLIMITED));
        }
    }

    @Nested
    class RequestBudgeted extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new RequestBudgetResource(bottom);
        }
    }

    @Nested
    class Counted extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new StatisticsResource(bottom);
        }
    }

    @Nested
    class Logged extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new LoggingResource(bottom, new RmmLog(new StringWriter()));
        }
    }

    @Nested
    class LeakTracked extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return LeakTrackingResource.full(bottom);
        }
    }

    @Nested
    class LeakSampled extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return LeakTrackingResource.sampled(bottom, 2);
        }
    }

    @Nested
    class WithCallback extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new FailureCallbackResource(bottom, 1, (failure, attempt) -> true);
        }
    }

    @Nested
    class WithFallback extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new FallbackResource(
                    new FaultInjectionResource(bottom, FaultInjectionResource.FaultPlan.byChance(0.5, 1)), bottom);
        }
    }

    @Nested
    class Aligned extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new AlignedResource(bottom, 4096);
        }
    }

    @Nested
    class WithSecondOnly extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new FallbackResource(
                    new FaultInjectionResource(bottom, FaultInjectionResource.FaultPlan.fromSize(1)), bottom);
        }
    }

    @Nested
    class ThereAndBack extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            return new AllocatorResource(ResourceAllocator.of(bottom));
        }

        @Override
        boolean checksSizes() {
            return false; // the free of an allocator has no size
        }
    }

    @Nested
    class WholeStack extends ResourceContract {
        @Override
        MemoryResource over(HostResource bottom) {
            MemoryResource logged = new LoggingResource(bottom, new TraceLog(new StringWriter()));
            MemoryResource counted = new StatisticsResource(LeakTrackingResource.full(logged));
            return new AlignedResource(new BudgetResource(counted, Budget.of("all", 1L << 40)), 128);
        }
    }
}
