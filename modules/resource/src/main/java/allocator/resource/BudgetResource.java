package allocator.resource;

import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Charges every allocation to a {@link Budget}, by the size that is asked for: before the upstream allocates, and until
 * the upstream has the memory back. So what stands below never has more out than the budget grants.
 *
 * <p>Put it above what only watches, and below {@link AlignedResource}, which asks for more than its caller did.
 */
public final class BudgetResource extends ResourceDecorator {
    private final Budget budget;
    private final PressureLadder ladder;

    /**
     * Puts a budget on a resource.
     *
     * @param upstream the resource
     * @param budget what is charged
     * @param ladder what is tried before a request is refused
     * @throws StackOrderException if the upstream charges the same budget tree already, or pads requests
     */
    public BudgetResource(MemoryResource upstream, Budget budget, PressureLadder ladder) {
        super(upstream);
        requireChargeable(upstream, budget);
        this.budget = budget;
        this.ladder = ladder;
    }

    /**
     * Refuses a stack that charges the same budget tree below, now or for a request, or asks for more than it charges.
     */
    static void requireChargeable(MemoryResource upstream, Budget budget) {
        requireNoPadding(upstream, "the budget " + budget);
        requireNone(
                upstream,
                resource -> resource instanceof BudgetResource other && other.budget.isRelatedTo(budget),
                "the budget " + budget
                        + " is charged below already: a request would count twice; leave one of them out");
        stack(upstream)
                .filter(RequestBudgetResource.class::isInstance)
                .forEach(resource -> ((RequestBudgetResource) resource).refuseRelatedTo(budget));
    }

    static void requireNoPadding(MemoryResource upstream, String charged) {
        requireNone(
                upstream,
                AlignedResource.class::isInstance,
                charged + " stands above forced alignment and would not count its padding; put Aligned above Budget");
    }

    /**
     * Puts a budget on a resource; a request that does not fit is refused at once.
     *
     * @param upstream the resource
     * @param budget what is charged
     * @throws StackOrderException if the upstream charges the same budget tree already, or pads requests
     */
    public BudgetResource(MemoryResource upstream, Budget budget) {
        this(upstream, budget, PressureLadder.NONE);
    }

    /**
     * What is charged.
     *
     * @return the budget
     */
    public Budget budget() {
        return budget;
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final Budget.Status refusal = budget.charge(byteSize);
        if (refusal != null) {
            chargeUnderPressure(byteSize, refusal);
        }
        boolean isTaken = false;
        try {
            final long address = takeUpstream(byteSize, byteAlignment, stream);
            isTaken = true;
            return address;
        } finally {
            if (!isTaken) {
                budget.release(byteSize);
            }
        }
    }

    private void chargeUnderPressure(long byteSize, Budget.Status refusal) {
        final StringBuilder report = new StringBuilder();
        if (budget.isAbove(byteSize) || !ladder.climb(byteSize, () -> budget.tryCharge(byteSize), report)) {
            throw refused(this, byteSize, refusal, report.toString());
        }
    }

    static OutOfMemoryException refused(MemoryResource resource, long byteSize, Budget.Status refusal, String report) {
        return new OutOfMemoryException(
                "The budget " + refusal.name() + " has no " + byteSize + " bytes left",
                new Shortage(
                        resource.memory(),
                        byteSize,
                        byteSize,
                        refusal.limit(),
                        refusal.charge(),
                        refusal.charge(),
                        refusal.available(),
                        OutOfMemoryException.UNKNOWN),
                report,
                null);
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        try {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
        } catch (DeviceException e) {
            budget.release(byteSize); // the allocation is dead all the same
            throw e;
        }
        budget.release(byteSize);
    }
}
