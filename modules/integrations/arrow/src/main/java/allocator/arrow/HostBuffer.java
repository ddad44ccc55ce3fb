package allocator.arrow;

import allocator.provider.support.budget.Budget;
import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/** The block beneath one buffer of Arrow and its slices. Arrow calls {@link #release0} once. */
final class HostBuffer extends AllocationManager {
    private final ArrowMemory memory;
    private final long byteSize;

    /** The Arrow allocator's name: the owner in events. */
    private final String owner;

    private final @Nullable Budget budget;
    private final AllocationSites.@Nullable Site site;

    /** Set once there is a block. */
    long address;

    HostBuffer(
            BufferAllocator accountingAllocator,
            ArrowMemory memory,
            long byteSize,
            @Nullable Budget budget,
            AllocationSites.@Nullable Site site) {
        super(accountingAllocator);
        this.memory = memory;
        this.byteSize = byteSize;
        owner = accountingAllocator.getName();
        this.budget = budget;
        this.site = site;
    }

    String owner() {
        return owner;
    }

    @Nullable
    Budget budget() {
        return budget;
    }

    AllocationSites.@Nullable Site site() {
        return site;
    }

    @Override
    public long getSize() {
        return byteSize;
    }

    @Override
    protected long memoryAddress() {
        return address;
    }

    @Override
    protected void release0() {
        memory.release(this);
    }
}
