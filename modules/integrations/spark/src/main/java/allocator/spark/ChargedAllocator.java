package allocator.spark;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Allocates from the memory of an executor, and charges each block to a budget from before it is allocated until after
 * it is freed. Frees its own blocks only, so that no task frees those of another.
 */
class ChargedAllocator implements Allocator {
    /** A live block. */
    private record Block(Budget budget, long byteSize) {}

    private final LimitedMemory memory;
    private final Supplier<Budget> charged;
    private final Map<Long, Block> live = new ConcurrentHashMap<>();
    private volatile boolean isClosed;

    /**
     * Makes the allocator.
     *
     * @param memory where blocks come from
     * @param charged returns the budget of the calling thread's requests
     */
    ChargedAllocator(LimitedMemory memory, Supplier<Budget> charged) {
        this.memory = memory;
        this.charged = charged;
    }

    /** One of memory that the host can use. */
    static final class OfHost extends ChargedAllocator implements HostAccessibleAllocator {
        private final HostAccessibleAllocator upstream;

        /**
         * Makes the allocator.
         *
         * @throws IllegalArgumentException if the host cannot use the memory
         */
        OfHost(LimitedMemory memory, Supplier<Budget> charged) {
            super(memory, charged);
            if (!(memory.allocator().as(HostAccessibleAllocator.class).orElse(null)
                    instanceof HostAccessibleAllocator host)) {
                throw new IllegalArgumentException(memory.allocator().info() + " is not memory that the host can use");
            }
            upstream = host;
        }

        @Override
        public MemorySegment segment(long address, long byteSize) {
            requireOpen();
            return upstream.segment(address, byteSize);
        }
    }

    @Override
    public long alloc(long byteSize) {
        return allocate(byteSize, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocate(byteSize, true);
    }

    private long allocate(long byteSize, boolean isReserve) {
        requireOpen();
        final Budget budget = charged.get();
        final long charge = Math.max(0, byteSize); // a negative size is the upstream's to reject
        final Budget.Status rejection = charge(budget, charge);
        if (rejection != null) {
            memory.countFailure();
            throw budget.outOfMemory(rejection, info(), byteSize, "");
        }
        long address = 0;
        boolean isLive = false;
        try {
            address = take(byteSize, isReserve);
            if (address != 0) {
                live.put(address, new Block(budget, byteSize));
                isLive = true;
            }
        } catch (OutOfMemoryException e) {
            memory.countFailure();
            throw new OutOfMemoryException(
                    "The memory of " + budget.path() + " has no room for " + byteSize + " bytes",
                    e.shortage(),
                    e.dump(),
                    e);
        } finally {
            if (!isLive) {
                undo(address, budget, charge);
            }
        }
        if (isClosed && address != 0 && live.containsKey(address)) {
            release(address); // the close may have passed it by
            requireOpen();
        }
        return address;
    }

    private Budget.@Nullable Status charge(Budget budget, long bytes) {
        try {
            return budget.charge(bytes);
        } catch (IllegalStateException e) {
            requireOpen(); // the end of the task closes its budget
            throw e;
        }
    }

    /**
     * Takes a block. What the budget grants may yet find no room, since memory is held for blocks of another kind or
     * size; then what is free of it is returned first.
     */
    private long take(long byteSize, boolean isReserve) {
        try {
            return takeOnce(byteSize, isReserve);
        } catch (OutOfMemoryException e) {
            if (!memory.shrink()) {
                throw e;
            }
        }
        return takeOnce(byteSize, isReserve);
    }

    private long takeOnce(long byteSize, boolean isReserve) {
        return isReserve
                ? memory.allocator().reserve(byteSize)
                : memory.allocator().alloc(byteSize);
    }

    private void undo(long address, Budget budget, long charge) {
        try {
            if (address != 0) {
                memory.allocator().free(address);
            }
        } finally {
            budget.release(charge);
        }
    }

    @Override
    public void free(long address) {
        requireOpen();
        if (address != 0 && !release(address)) {
            throw new ForeignAddressException(address, "not a live block of the allocator of " + charged.get());
        }
    }

    /** Frees a block; returns false if it is not one of the live ones. */
    private boolean release(long address) {
        final Block block = live.remove(address);
        if (block == null) {
            return false;
        }
        try {
            memory.allocator().free(address);
        } finally {
            block.budget().release(block.byteSize());
        }
        return true;
    }

    /**
     * Ends this allocator and frees its live blocks. All are tried; what fails is thrown at the end. Returns the bytes
     * of the blocks that were live.
     */
    long close() {
        isClosed = true;
        long bytes = 0;
        final Failures failures = new Failures();
        for (final Map.Entry<Long, Block> entry : live.entrySet()) {
            bytes += entry.getValue().byteSize();
            failures.run(() -> release(entry.getKey()));
        }
        failures.throwIfAny();
        return bytes;
    }

    final void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the task of this allocator has ended");
        }
    }

    @Override
    public MemoryInfo info() {
        return memory.allocator().info();
    }

    @Override
    public int spiLevel() {
        return SpiLevel.STATISTICS;
    }

    /** Returns the statistics of the executor's memory, which all tasks share. */
    @Override
    public AllocatorStats stats() {
        requireOpen();
        return memory.allocator().stats();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return memory.allocator().effectiveOptions();
    }
}
