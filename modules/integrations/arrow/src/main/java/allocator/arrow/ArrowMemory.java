package allocator.arrow;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.event.AllocatorEvents;
import allocator.resource.leak.LeakReport;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.ReferenceManager;
import org.jspecify.annotations.Nullable;

/**
 * Memory for Apache Arrow from an allocator of this project: the allocation manager that a root allocator takes.
 *
 * <pre>{@code
 * try (ArrowMemory memory = ArrowMemory.builder().option("arena.max_mem", "268435456").open();
 *         BufferAllocator root = new RootAllocator(RootAllocator.configBuilder()
 *                 .allocationManagerFactory(memory)
 *                 .build())) {
 *     ...
 * }
 * }</pre>
 *
 * <p>Each buffer of Arrow is one block, of the size that Arrow's rounding policy asks for, with the alignment of the
 * allocator's memory. Its bytes are not initialized. Slices and transfers share the block; it is freed when Arrow
 * releases its last reference. A buffer of size 0 takes no memory, and a foreign buffer keeps its own.
 *
 * <p>Where the allocator or a budget cannot serve a request, Arrow's {@link OutOfMemoryException} is thrown, with an
 * {@link allocator.spi.OutOfMemoryException} as its cause; nothing has changed, and live buffers stay valid. A request
 * that Arrow's own limits reject fails in Arrow, without a cause.
 *
 * <p>Safe for use by several threads; several root allocators may use one instance. A call may block on locks of the
 * allocator, and on the system when it takes or returns memory.
 */
public final class ArrowMemory implements AllocationManager.Factory, AutoCloseable {
    private final HostMemory memory;
    private final Allocator allocator;
    private final @Nullable Function<BufferAllocator, Budget> budgets;
    private final @Nullable AllocationSites sites;

    /** The bytes of live buffers, where the allocator does not count those of this memory alone. */
    private final @Nullable AtomicLong liveBytes;

    private IdleShrink idleShrink = new IdleShrink(0);
    private volatile boolean isClosed;

    ArrowMemory(
            HostMemory memory, @Nullable Function<BufferAllocator, Budget> budgets, @Nullable AllocationSites sites) {
        this.memory = memory;
        this.allocator = memory.allocator();
        this.budgets = budgets;
        this.sites = sites;
        liveBytes = memory.isCounted() ? null : new AtomicLong();
        AllocatorEvents.prepare();
    }

    /** Returns idle memory at intervals, until the close; an interval of 0 seconds never does. */
    void shrinkEvery(long seconds) {
        idleShrink = new IdleShrink(seconds);
    }

    /** {@return a builder for memory of the provider {@code cpu-reference}, without a limit} */
    public static ArrowMemoryBuilder builder() {
        return new ArrowMemoryBuilder();
    }

    /**
     * Allocates the memory of a buffer. For Arrow, which calls it.
     *
     * @param accountingAllocator the Arrow allocator that the buffer is for
     * @param size in bytes, not negative
     * @return the manager of the memory, which frees it when Arrow releases it
     * @throws OutOfMemoryException if the allocator or a budget cannot serve the request; the cause says which
     * @throws allocator.spi.AllocatorClosedException if this memory is closed
     */
    @Override
    public AllocationManager create(BufferAllocator accountingAllocator, long size) {
        requireOpen();
        final Budget budget = budgets == null ? null : charged(accountingAllocator, size, budgets);
        AllocationSites.Site site = null;
        boolean isCreated = false;
        final allocator.spi.OutOfMemoryException failure;
        count(size);
        try {
            site = sites == null ? null : sites.site(size);
            final HostBuffer buffer = new HostBuffer(accountingAllocator, this, size, budget, site);
            if (site != null) {
                site.begin();
            }
            buffer.address = allocate(size); // a store, which cannot fail
            isCreated = true;
            if (AllocatorEvents.recordsAllocations()) {
                AllocatorEvents.allocated(buffer.owner(), allocator.info(), buffer.address, size, 0, false, "");
            }
            return buffer;
        } catch (allocator.spi.OutOfMemoryException e) {
            failure = e;
        } finally {
            if (!isCreated) {
                settle(size, budget, site);
            }
        }
        throw outOfMemory(accountingAllocator, size, failure);
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the memory of " + allocator.info() + " for Arrow is closed");
        }
    }

    private void count(long size) {
        if (liveBytes != null) {
            liveBytes.addAndGet(size);
        }
    }

    /** Allocates; a request that fails is tried once more after unused memory has been returned. */
    private long allocate(long size) {
        try {
            return allocator.alloc(size);
        } catch (allocator.spi.OutOfMemoryException e) {
            try {
                reclaim();
                return allocator.alloc(size);
            } catch (allocator.spi.OutOfMemoryException again) {
                throw again;
            } catch (RuntimeException failure) {
                e.addSuppressed(failure);
                throw e;
            }
        }
    }

    private Budget charged(
            BufferAllocator accountingAllocator, long size, Function<BufferAllocator, Budget> ofAllocators) {
        final Budget budget = ofAllocators.apply(accountingAllocator);
        final Budget.Status rejection = budget.charge(size);
        if (rejection != null) {
            throw outOfMemory(accountingAllocator, size, budget.outOfMemory(rejection, allocator.info(), size, ""));
        }
        return budget;
    }

    private OutOfMemoryException outOfMemory(
            BufferAllocator accountingAllocator, long size, allocator.spi.OutOfMemoryException cause) {
        AllocatorEvents.failed(accountingAllocator.getName(), size, cause, "");
        final String holders =
                budgets instanceof ChildBudgets children ? children.holders(accountingAllocator, size) : "";
        return new OutOfMemoryException(
                "Unable to allocate buffer of size " + size + ": " + cause.getMessage() + holders, cause);
    }

    /** Frees the block of a buffer that Arrow has released. */
    void release(HostBuffer buffer) {
        try {
            if (AllocatorEvents.recordsFrees()) {
                AllocatorEvents.freeing(buffer.owner(), allocator.info(), buffer.memoryAddress());
            }
            allocator.free(buffer.memoryAddress());
        } finally {
            settle(buffer.getSize(), buffer.budget(), buffer.site());
            idleShrink.freed(this);
        }
    }

    private void settle(long size, @Nullable Budget budget, AllocationSites.@Nullable Site site) {
        if (liveBytes != null) {
            liveBytes.addAndGet(-size);
        }
        try {
            if (budget != null) {
                budget.release(size);
            }
        } finally {
            if (site != null) {
                site.end();
            }
        }
    }

    /** {@return the buffer of size 0, which has no memory and need not be closed} */
    @Override
    public ArrowBuf empty() {
        return new ArrowBuf(ReferenceManager.NO_OP, null, 0, 0);
    }

    /** {@return the allocator beneath, which was given or which the provider created} */
    public Allocator allocator() {
        return allocator;
    }

    /**
     * Returns the counters of the allocator: {@code requestedBytesInUse} are the bytes of all live buffers, as Arrow
     * rounds them; {@code bytesHeld} is taken from the system.
     *
     * @return the statistics; {@link AllocatorStats#NONE} if the allocator has none
     * @throws allocator.spi.AllocatorClosedException if this memory is closed
     */
    public AllocatorStats stats() {
        requireOpen();
        return allocator.spiLevel() >= SpiLevel.STATISTICS ? allocator.stats() : AllocatorStats.NONE;
    }

    /**
     * Returns unused memory to the system. May be called at any time, also while buffers are allocated.
     *
     * @return what was returned, and what is still held; nothing is returned by an allocator that cannot be shrunk
     * @throws allocator.spi.AllocatorClosedException if this memory is closed
     */
    public ShrinkReport shrink() {
        requireOpen();
        return reclaim();
    }

    private ShrinkReport reclaim() {
        if (allocator.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable
                && allocator.spiLevel() >= SpiLevel.SHRINK) {
            return shrinkable.shrink();
        }
        return new ShrinkReport(0, 0, stats().bytesHeld(), 0, 0);
    }

    /**
     * {@return the report of the buffers that are live, grouped by the code that allocated them; empty unless
     * {@link ArrowMemoryBuilder#trackLeaks} was chosen}
     */
    public LeakReport liveBuffers() {
        return sites == null ? new LeakReport(List.of(), 1) : sites.report();
    }

    /**
     * Returns the allocator to its provider, which returns all memory to the system. An allocator that the application
     * gave is left as it is. A second call tries again what failed, and otherwise does nothing. No allocation may be
     * under way.
     *
     * @throws IllegalStateException if buffers are live; the message names their bytes and, if leaks are tracked, their
     *     sites; this memory stays open
     * @throws allocator.spi.DeviceException if the system does not take the memory back
     */
    @Override
    public synchronized void close() {
        if (!isClosed) {
            final long bytes = liveBytes == null ? allocator.stats().requestedBytesInUse() : liveBytes.get();
            if (bytes != 0) {
                throw new IllegalStateException(bytes + " bytes of Arrow buffers are not released; close them first"
                        + (sites == null ? "" : ": " + sites.report()));
            }
            isClosed = true;
        }
        idleShrink.stop();
        memory.close();
    }

    @Override
    public String toString() {
        return "Arrow memory of " + allocator.info();
    }
}
