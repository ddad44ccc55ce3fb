package allocator.arrow;

import allocator.resource.budget.Budget;
import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/** The block beneath one buffer of Arrow and its slices. Arrow calls {@link #release0} once. */
final class HostBuffer extends AllocationManager {
    private final ArrowMemory memory;
    private final long address;
    private final long byteSize;
    private final @Nullable Budget budget;
    private final AllocationSites.@Nullable Site site;

    HostBuffer(
            BufferAllocator accountingAllocator,
            ArrowMemory memory,
            long address,
            long byteSize,
            @Nullable Budget budget,
            AllocationSites.@Nullable Site site) {
        super(accountingAllocator);
        this.memory = memory;
        this.address = address;
        this.byteSize = byteSize;
        this.budget = budget;
        this.site = site;
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
        memory.free(address, byteSize, budget, site);
    }
}
