package allocator.arrow;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.budget.Budget.Status;
import allocator.provider.support.budget.BudgetDump;
import allocator.provider.support.internal.LogLimit;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.arrow.memory.BufferAllocator;

/**
 * A budget for each Arrow allocator, without a limit of its own, since Arrow enforces that. All of them are below the
 * budget that was given, under the names of their Arrow allocators from the root on, so that a failed request names the
 * largest, and a warning lists each. An allocator that nothing refers to is forgotten.
 */
final class ChildBudgets implements Function<BufferAllocator, Budget> {
    private static final int LONGEST_NAME = 200;
    private static final int MOST_NAMED = 3;
    private static final int MOST_LISTED = 100;
    private static final System.Logger LOG = System.getLogger(ArrowMemory.class.getName());

    private final Budget top;

    /** Guarded by itself. */
    private final Map<BufferAllocator, Budget> ofAllocators = new WeakHashMap<>();

    private final LogLimit warnings = new LogLimit();

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

    /** Logs who holds what when a request failed. Returns the largest holders, for the message of the failure. */
    String holders(BufferAllocator allocator, long size) {
        final List<Status> holders = BudgetDump.holders(top);
        final long number = warnings.next();
        if (number > 0) {
            LOG.log(
                    Level.WARNING,
                    "cannot allocate " + size + " bytes for " + name(allocator) + "; held, the most first: "
                            + text(holders, MOST_LISTED) + LogLimit.suffix(number));
        }
        return holders.isEmpty() ? "" : "; held, the most first: " + text(holders, MOST_NAMED);
    }

    private static String text(List<Status> holders, int most) {
        final String listed = holders.stream()
                .limit(most)
                .map(holder -> holder.name() + " " + holder.charge() + " bytes")
                .collect(Collectors.joining(", "));
        return holders.size() > most ? listed + " and " + (holders.size() - most) + " more" : listed;
    }
}
