package allocator.resource.budget;

import allocator.provider.support.StackReserve;
import allocator.resource.AlignedResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.StackOrderException;
import allocator.resource.TakenBackException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Charges every allocation to a {@link Budget} by its requested size, from before the upstream allocates until after it
 * has deallocated. The upstream never has more bytes allocated than the budget grants. An allocation or a deallocation
 * that throws has changed no charge.
 *
 * <p>Place it above decorators that only observe, and below {@link AlignedResource}, which adds padding to requests.
 */
public final class BudgetResource extends ResourceDecorator {
    private final Budget budget;
    private final PressureLadder ladder;

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param budget the budget to charge
     * @param ladder what to try before a request is rejected
     * @throws StackOrderException if the upstream already charges the same tree of budgets, or pads requests
     */
    public BudgetResource(MemoryResource upstream, Budget budget, PressureLadder ladder) {
        super(upstream);
        requireChargeable(upstream, budget);
        this.budget = budget;
        this.ladder = ladder;
    }

    /**
     * Checks that a budget may be charged for the allocations of a resource: nothing below charges the same tree of
     * budgets or pads requests. A {@link RequestBudgetResource} below rejects budgets of that tree from now on.
     *
     * @param upstream the resource
     * @param budget the budget to charge
     * @throws StackOrderException if the resource already charges the same tree of budgets, or pads requests
     */
    public static void requireChargeable(MemoryResource upstream, Budget budget) {
        requireNoPadding(upstream, "the budget " + budget);
        requireNone(
                upstream,
                resource -> resource instanceof BudgetResource other && other.budget.isRelatedTo(budget),
                "the budget " + budget + " is already charged below: a request would count twice; remove one of them");
        stack(upstream)
                .filter(RequestBudgetResource.class::isInstance)
                .forEach(resource -> ((RequestBudgetResource) resource).excludeTreeOf(budget));
    }

    static void requireNoPadding(MemoryResource upstream, String charged) {
        requireNone(
                upstream,
                AlignedResource.class::isInstance,
                charged + " is above forced alignment and would not count its padding; place Aligned above Budget");
    }

    /**
     * Decorates a resource. A request that the budget cannot grant is rejected at once.
     *
     * @param upstream the resource
     * @param budget the budget to charge
     * @throws StackOrderException if the upstream already charges the same tree of budgets, or pads requests
     */
    public BudgetResource(MemoryResource upstream, Budget budget) {
        this(upstream, budget, PressureLadder.NONE);
    }

    /**
     * Returns the budget that is charged.
     *
     * @return the budget
     */
    public Budget budget() {
        return budget;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        return allocate(byteSize, byteAlignment, stream, false);
    }

    @Override
    protected long doReserve(long byteSize, long byteAlignment) {
        return allocate(byteSize, byteAlignment, null, true);
    }

    private long allocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        final Budget.Status rejection = budget.charge(byteSize);
        if (rejection != null) {
            chargeUnderPressure(byteSize, rejection);
        }
        boolean isAllocated = false;
        try {
            final long address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
            isAllocated = true;
            return address;
        } finally {
            if (!isAllocated) {
                budget.release(byteSize);
            }
        }
    }

    private void chargeUnderPressure(long byteSize, Budget.Status rejection) {
        StackReserve.touch();
        final StringBuilder report = new StringBuilder();
        if (budget.isLimitBelow(byteSize) || !ladder.climb(byteSize, () -> budget.tryCharge(byteSize), report)) {
            throw budget.outOfMemory(rejection, memory(), byteSize, report.toString());
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
        } catch (TakenBackException e) {
            budget.release(byteSize);
            throw e;
        }
        budget.release(byteSize);
    }
}
