package allocator.resource.budget;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.budget.BudgetPressure;
import allocator.resource.AlignedResource;
import allocator.resource.AllocatorResource;
import allocator.resource.HostResource;
import allocator.resource.MemoryResource;
import allocator.resource.ResourceArena;
import allocator.resource.ResourceDecorator;
import allocator.resource.StackOrderException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Charges every allocation to a {@link Budget} by its requested size, from before the upstream allocates until after it
 * has deallocated. The upstream never has more bytes allocated than the budget grants. An allocation or a deallocation
 * that throws has changed no charge.
 *
 * <p>A deallocation of more bytes than this resource has charged is rejected. Sizes of single allocations are not
 * stored, so a smaller wrong size is found by an upstream that checks sizes, or not at all.
 *
 * <p>If the {@linkplain Budget#ofMemory budget of the device} rejects a request that is charged to it or below it, what
 * others hold of the device is shrunk, and the request is made again: see {@link BudgetPressure}.
 *
 * <p>Place it above decorators that only observe, and below {@link AlignedResource}, which adds padding to requests.
 */
public final class BudgetResource extends ResourceDecorator {
    private static final System.Logger LOGGER = System.getLogger(BudgetResource.class.getName());

    private final Budget budget;
    private final PressureLadder ladder;

    /** Whether the budget is in the tree of that of the memory's device. */
    private final boolean isOfDevice;

    /** Bytes charged here, without those of deallocations that are under way: each of these may be released. */
    private final AtomicLong charged = new AtomicLong();

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
        isOfDevice = budget.isRelatedTo(Budget.ofMemory(memory()));
    }

    /**
     * Checks that a budget may be charged for the allocations of a resource: nothing below charges the same tree of
     * budgets, as a provider charges the budget of its device, or pads requests. A {@link RequestBudgetResource} below
     * rejects budgets of that tree from now on.
     *
     * @param upstream the resource
     * @param budget the budget to charge
     * @throws StackOrderException if the resource already charges the same tree of budgets, or pads requests
     */
    public static void requireChargeable(MemoryResource upstream, Budget budget) {
        requireNoPadding(upstream, "the budget " + budget.path());
        requireNone(
                upstream,
                resource -> resource instanceof AllocatorResource provided
                        && budget.isRelatedTo(Budget.ofMemory(provided.memory())),
                "the budget " + budget.path()
                        + " is charged by the provider below: set its limit, and charge another one");
        requireNone(
                upstream,
                resource -> resource instanceof BudgetResource other && other.budget.isRelatedTo(budget),
                "the budget " + budget.path()
                        + " is already charged below: a request would count twice; remove one of them");
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
     * Creates an arena of host memory, shared by all threads, whose segments are charged to a budget. A segment that
     * the budget cannot grant is an {@link allocator.spi.OutOfMemoryException}. Closing the arena releases the charge,
     * not the budget, which other arenas may be charged to as well.
     *
     * @param budget the budget to charge
     * @return the arena, to be closed by any thread
     */
    public static ResourceArena arena(Budget budget) {
        return ResourceArena.ofShared(new BudgetResource(new HostResource(), budget));
    }

    /** {@return the budget that is charged} */
    public Budget budget() {
        return budget;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        try {
            return chargeAndAllocate(byteSize, byteAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            if (!isOfDevice) {
                throw e;
            }
            return BudgetPressure.again(
                    e, memory(), null, () -> chargeAndAllocate(byteSize, byteAlignment, stream, isReserve));
        }
    }

    private long chargeAndAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        final Budget.Status rejection = budget.charge(byteSize);
        if (rejection != null) {
            chargeUnderPressure(byteSize, rejection);
        }
        final long address;
        try {
            address = allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } catch (Throwable e) {
            budget.release(byteSize);
            throw e;
        }
        charged.getAndAdd(byteSize);
        return address;
    }

    private void chargeUnderPressure(long byteSize, Budget.Status rejection) {
        final StringBuilder report = new StringBuilder();
        if (budget.isLimitBelow(byteSize) || !ladder.climb(byteSize, () -> budget.tryCharge(byteSize), report)) {
            throw budget.outOfMemory(rejection, memory(), byteSize, report.toString());
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        beginRelease(address, byteSize);
        try {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
        } catch (Throwable e) {
            charged.getAndAdd(byteSize);
            throw e;
        }
        releaseFreed(budget, byteSize);
    }

    private void beginRelease(long address, long byteSize) {
        long before = charged.get();
        while (byteSize >= 0 && byteSize <= before && !charged.compareAndSet(before, before - byteSize)) {
            before = charged.get();
        }
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > 0 && before == 0) {
            throw new ForeignAddressException(address, "nothing is charged to " + budget.path() + " here");
        }
        if (byteSize > before) {
            throw new InvalidSizeException(
                    byteSize,
                    "is not the size at 0x" + Long.toHexString(address) + ": only " + before + " bytes are charged to "
                            + budget.path() + " here");
        }
    }

    /** Releases a charge whose memory is freed. It fails only if other code has released it. */
    static void releaseFreed(Budget charged, long byteSize) {
        try {
            charged.release(byteSize);
        } catch (IllegalStateException e) {
            LOGGER.log(Level.ERROR, "a charge was released by other code than its own", e);
        }
    }
}
