package allocator.arrow;

import allocator.resource.budget.Budget;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;

/**
 * A budget for each Arrow allocator, without a limit of its own, since Arrow enforces that. All of them are below the
 * budget that was given, under the names of their Arrow allocators from the root on, so that a failed request lists
 * each. An allocator that nothing refers to is forgotten.
 */
final class ChildBudgets implements Function<BufferAllocator, Budget> {
    private static final int LONGEST_NAME = 200;

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
                budget = top.child(name(allocator), Budget.UNLIMITED);
                ofAllocators.put(allocator, budget);
            }
            return budget;
        }
    }

    /** Returns the names from the root on, the last ones if they are many. */
    private static String name(BufferAllocator allocator) {
        String name = allocator.getName();
        BufferAllocator parent = allocator.getParentAllocator();
        while (parent != null) {
            if (name.length() > LONGEST_NAME) {
                return ".../" + name;
            }
            name = parent.getName() + "/" + name;
            parent = parent.getParentAllocator();
        }
        return name;
    }
}
