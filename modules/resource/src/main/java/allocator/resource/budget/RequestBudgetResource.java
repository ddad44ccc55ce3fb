package allocator.resource.budget;

import allocator.provider.support.StackReserve;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.StackOrderException;
import allocator.resource.TakenBackException;
import allocator.resource.base.AddressTable;
import allocator.spi.InvalidSizeException;
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

    private final AddressTable<Budget> charged = new AddressTable<>();

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
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        return allocate(byteSize, byteAlignment, stream, false);
    }

    @Override
    protected long doReserve(long byteSize, long byteAlignment) {
        return allocate(byteSize, byteAlignment, null, true);
    }

    private long allocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (!CURRENT.isBound()) {
            return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        }
        final Budget budget = CURRENT.get();
        requireUnrelated(budget);
        charged.prepare();
        long address = 0;
        boolean isCharged = false;
        try {
            charge(budget, byteSize);
            isCharged = true;
            address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } finally {
            if (address == 0) {
                charged.abandon();
                if (isCharged) {
                    budget.release(byteSize);
                }
            }
        }
        charged.enter(address, byteSize, budget);
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
        final Budget budget = forget(address, byteSize);
        boolean isLive = true;
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            isLive = false;
        } catch (TakenBackException e) {
            isLive = false;
            throw e;
        } finally {
            if (budget != null && isLive) {
                charged.restore(address, byteSize, budget);
            } else if (budget != null) {
                BudgetResource.releaseFreed(budget, byteSize);
            }
        }
    }

    /** Removes an allocation that was charged; {@code null} if it was not. Rejects a size that was not charged. */
    private @Nullable Budget forget(long address, long byteSize) {
        StackReserve.touchBriefly();
        Budget budget = null;
        long chargedSize = byteSize;
        charged.lock.lock();
        try {
            final int slot = charged.find(address);
            if (slot >= 0) {
                chargedSize = charged.value(slot);
                if (chargedSize == byteSize) {
                    budget = charged.attachment(slot);
                    charged.remove(slot);
                }
            }
            charged.lock.unlock();
        } catch (Throwable e) {
            charged.lock.held = 0;
            throw e;
        }
        if (chargedSize != byteSize) {
            throw new InvalidSizeException(
                    byteSize, "is not the " + chargedSize + " charged for 0x" + Long.toHexString(address));
        }
        return budget;
    }
}
