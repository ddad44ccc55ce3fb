package allocator.resource.budget;

import allocator.provider.support.budget.Budget;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.StackOrderException;
import allocator.resource.base.LiveTable;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Charges every allocation to the budget of the current request, to which {@link #CURRENT} is bound. An allocation
 * outside a request is not charged.
 *
 * <p>A deallocation releases the budget that was charged, on any thread and in any request. One with another size than
 * was charged is rejected.
 *
 * <pre>{@code
 * ScopedValue.where(RequestBudgetResource.CURRENT, Budget.of("request 7", 64 << 20))
 *         .run(() -> serve(resource));
 * }</pre>
 */
public final class RequestBudgetResource extends ResourceDecorator {
    /** The budget of the current thread's request. */
    public static final ScopedValue<Budget> CURRENT = ScopedValue.newInstance();

    /** The live blocks that were charged, each with its size and budget. */
    private final LiveTable<Budget> charged = new LiveTable<>(true);

    /** The budgets charged below and above; the budget of a request must not be in one of their trees. */
    private final List<Budget> elsewhere = new CopyOnWriteArrayList<>();

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @throws StackOrderException if the upstream already charges the budgets of requests, or pads requests
     */
    public RequestBudgetResource(MemoryResource upstream) {
        super(upstream);
        BudgetResource.requireNoPadding(upstream, "the budget of a request");
        requireNone(
                upstream,
                RequestBudgetResource.class::isInstance,
                "the budget of a request is already charged below: it would count twice; remove one of them");
        stack(upstream)
                .filter(BudgetResource.class::isInstance)
                .forEach(resource -> excludeTreeOf(((BudgetResource) resource).budget()));
    }

    /** Excludes the tree of a budget that is charged for every request: a request's budget must not be in it. */
    void excludeTreeOf(Budget budget) {
        elsewhere.add(budget);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (!CURRENT.isBound()) {
            return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        }
        final Budget budget = CURRENT.get();
        requireUnrelated(budget);
        charged.expect();
        long address = 0;
        boolean isCharged = false;
        try {
            charge(budget, byteSize);
            isCharged = true;
            address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } finally {
            if (address == 0) {
                charged.expectNoMore();
                if (isCharged) {
                    budget.release(byteSize);
                }
            }
        }
        charged.add(address, byteSize, budget);
        return address;
    }

    private void charge(Budget budget, long byteSize) {
        final Budget.Status rejection = budget.charge(byteSize);
        if (rejection != null) {
            throw budget.outOfMemory(rejection, memory(), byteSize, "");
        }
    }

    private void requireUnrelated(Budget budget) {
        for (Budget charge : elsewhere) {
            if (charge.isRelatedTo(budget)) {
                throw new StackOrderException("the budget " + budget.path() + " of this request is in the tree of "
                        + charge.path() + ", which is charged too: a request would count twice");
            }
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final Budget budget = charged.takeAttached(address, byteSize);
        boolean isFreed = false;
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            isFreed = true;
        } finally {
            if (budget != null) {
                charged.settle(address, byteSize, budget, isFreed);
            }
        }
        if (budget != null) {
            BudgetResource.releaseFreed(budget, byteSize);
        }
    }
}
