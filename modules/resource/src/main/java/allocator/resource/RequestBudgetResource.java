package allocator.resource;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Charges every allocation to the budget of the request that makes it: the one that {@link #CURRENT} is bound to. What
 * is allocated outside any request is not charged.
 *
 * <p>A deallocation releases the budget that was charged, on whichever thread and in whichever request it happens.
 *
 * <p>{@snippet : ScopedValue.where(RequestBudgetResource.CURRENT, Budget.of("request 7", 64 << 20)).run(() ->
 * serve(resource)); }
 */
public final class RequestBudgetResource extends ResourceDecorator {
    /** The budget of the request that the current thread works for. */
    public static final ScopedValue<Budget> CURRENT = ScopedValue.newInstance();

    private final AddressTable<Budget> charged = new AddressTable<>();

    /** The budgets that are charged below and above, which a request's budget must not be part of. */
    private final List<Budget> elsewhere = new CopyOnWriteArrayList<>();

    /**
     * Puts the budgets of requests on a resource.
     *
     * @param upstream the resource
     * @throws StackOrderException if the upstream charges the budgets of requests already, or pads requests
     */
    public RequestBudgetResource(MemoryResource upstream) {
        super(upstream);
        BudgetResource.requireNoPadding(upstream, "the budget of a request");
        requireNone(
                upstream,
                RequestBudgetResource.class::isInstance,
                "the budget of a request is charged below already: it would count twice; leave one of them out");
        stack(upstream)
                .filter(BudgetResource.class::isInstance)
                .forEach(resource -> refuseRelatedTo(((BudgetResource) resource).budget()));
    }

    /** A budget is charged for every request, so that no request may have a part of the same tree. */
    void refuseRelatedTo(Budget budget) {
        elsewhere.add(budget);
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (!CURRENT.isBound()) {
            return takeUpstream(byteSize, byteAlignment, stream);
        }
        final Budget budget = CURRENT.get();
        requireUnrelated(budget);
        final Budget.Status refusal = budget.charge(byteSize);
        if (refusal != null) {
            throw BudgetResource.refused(this, byteSize, refusal, "");
        }
        long address = 0;
        boolean isCharged = false;
        try {
            address = takeUpstream(byteSize, byteAlignment, stream);
            remember(address, byteSize, budget);
            isCharged = true;
            return address;
        } finally {
            if (!isCharged) {
                budget.release(byteSize);
                if (address != 0) {
                    giveBackUpstream(address, byteSize, byteAlignment, stream);
                }
            }
        }
    }

    private void requireUnrelated(Budget budget) {
        for (Budget charge : elsewhere) {
            if (charge.isRelatedTo(budget)) {
                throw new StackOrderException("the budget " + budget + " of this request is part of " + charge
                        + ", which is charged as well: a request would count twice");
            }
        }
    }

    private void remember(long address, long byteSize, Budget budget) {
        charged.lock();
        try {
            charged.put(address, byteSize, budget);
        } finally {
            charged.unlock();
        }
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final Budget budget = forget(address);
        try {
            giveBackUpstream(address, byteSize, byteAlignment, stream);
        } catch (DeviceException e) {
            release(budget, byteSize); // the allocation is dead all the same
            throw e;
        } catch (RuntimeException e) {
            if (budget != null) {
                remember(address, byteSize, budget);
            }
            throw e;
        }
        release(budget, byteSize);
    }

    private static void release(@Nullable Budget budget, long byteSize) {
        if (budget != null) {
            budget.release(byteSize);
        }
    }

    private @Nullable Budget forget(long address) {
        charged.lock();
        try {
            final int slot = charged.find(address);
            if (slot < 0) {
                return null;
            }
            final Budget budget = charged.attachment(slot);
            charged.remove(slot);
            return budget;
        } finally {
            charged.unlock();
        }
    }
}
