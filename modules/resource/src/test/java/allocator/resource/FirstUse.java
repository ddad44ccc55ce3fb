package allocator.resource;

import allocator.provider.support.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.SmallHeap;

/** A program whose first calls of a resource are made where the Java heap ends. Run in its own JVM. */
final class FirstUse {
    private static final long BYTES = 64;
    private static final long LIMIT = 1 << 20;

    private FirstUse() {}

    public static void main(String[] args) {
        final Runnable use = use(args[0]);
        SmallHeap.call(use);
        use.run(); // with heap again
        use(args[0]).run();
    }

    private static Runnable use(String resource) {
        final HostResource host = new HostResource();
        return switch (resource) {
            case "host" -> () -> use(host);
            case "budget" -> {
                final MemoryResource limited = new BudgetResource(host, Budget.of("limit", LIMIT));
                yield () -> use(limited);
            }
            case "rejected" -> {
                final MemoryResource limited = new BudgetResource(host, Budget.of("limit", BYTES));
                yield () -> reject(limited);
            }
            case "request" -> {
                final MemoryResource charged = new RequestBudgetResource(host);
                yield () -> ScopedValue.where(RequestBudgetResource.CURRENT, Budget.of("request", LIMIT))
                        .run(() -> use(charged));
            }
            case "allocator" -> {
                final ResourceAllocator allocator = ResourceAllocator.of(new StatisticsResource(host));
                yield () -> allocator.free(allocator.alloc(BYTES));
            }
            default -> throw new IllegalArgumentException(resource);
        };
    }

    private static void use(MemoryResource resource) {
        resource.deallocate(resource.allocate(BYTES), BYTES);
    }

    private static void reject(MemoryResource limited) {
        try {
            limited.allocate(2 * BYTES);
            throw new AssertionError("exceeds the budget");
        } catch (OutOfMemoryException e) {
            // As it must be.
        }
    }
}
