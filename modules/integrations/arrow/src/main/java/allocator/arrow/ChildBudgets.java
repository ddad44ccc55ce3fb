package allocator.arrow;

import allocator.resource.budget.Budget;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;

/**
 * A budget for each Arrow allocator: of its name, below that of its parent, without a limit of its own, since Arrow
 * enforces that. A root allocator is below the budget that was given. An allocator that nothing refers to is forgotten.
 */
final class ChildBudgets implements Function<BufferAllocator, Budget> {
    private final Budget top;

    /** Guarded by itself. */
    private final Map<BufferAllocator, Budget> ofAllocators = new WeakHashMap<>();

    ChildBudgets(Budget top) {
        this.top = top;
    }

    @Override
    public Budget apply(BufferAllocator allocator) {
        synchronized (ofAllocators) {
            Budget budget = ofAllocators.get(allocator);
            if (budget == null) {
                final BufferAllocator parent = allocator.getParentAllocator();
                budget = (parent == null ? top : apply(parent)).child(allocator.getName(), Budget.UNLIMITED);
                ofAllocators.put(allocator, budget);
            }
            return budget;
        }
    }
}
