package allocator.resource;

import allocator.resource.budget.Budget;
import allocator.resource.budget.BudgetResource;
import allocator.resource.budget.RequestBudgetResource;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.SmallHeap;
import allocator.testkit.SmallStack;

/** A program whose first calls of a resource are made where the Java heap or the stack ends. Run in its own JVM. */
final class FirstUse {
    private static final long BYTES = 64;
    private static final long LIMIT = 1 << 20;
    private static final int MOST_FRAMES_LEFT = 600;

    private FirstUse() {}

    public static void main(String[] args) {
        final Runnable use = use(args[1]);
        if (args[0].equals("heap")) {
            SmallHeap.call(use);
        } else {
            SmallStack.run(stack -> {
                for (int left = 1; left < MOST_FRAMES_LEFT; left++) {
                    stack.callAt(stack.depth() - left, use);
                }
            });
        }
        use.run(); // with heap and stack again
        use(args[1]).run();
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
