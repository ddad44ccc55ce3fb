package allocator.spark;

import allocator.provider.support.Limit;
import allocator.provider.support.NamedAllocator;
import allocator.provider.support.budget.Budget;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/**
 * One memory of an executor: an allocator that holds no more than the limit, and a budget of the same size for what is
 * in use. Safe for use by any thread.
 */
final class LimitedMemory implements AutoCloseable {
    private static final String ORIGIN = "the plug-in's limit";

    /** So that a shrink returns all that is free: a region may be as large as the limit. */
    private static final Map<String, String> DEFAULTS = Map.of("arena.keep_first_region", "0");

    private final NamedAllocator opened;
    private final Budget budget;
    private final long limit;
    private final LongAdder failures = new LongAdder();

    private LimitedMemory(NamedAllocator opened, Budget budget, long limit) {
        this.opened = opened;
        this.budget = budget;
        this.limit = limit;
    }

    /**
     * Opens a memory of a provider.
     *
     * @param name the name of its budget, for messages
     * @throws IllegalArgumentException if there is no such provider, or it has no such memory
     * @throws allocator.spi.InvalidOptionException if an option is unknown or its value not accepted
     * @throws IllegalStateException if the provider has no native access
     */
    static LimitedMemory open(
            String name,
            String provider,
            AllocatorOptions options,
            Function<EpFactory, MemoryInfo> memory,
            long limit) {
        final NamedAllocator opened = NamedAllocator.open(
                ServiceLoader.load(EpFactory.class, LimitedMemory.class.getClassLoader()),
                provider,
                memory,
                options.with(Limit.KEY.name(), Long.toString(limit), ORIGIN),
                DEFAULTS,
                "the plug-in's default");
        return new LimitedMemory(opened, Budget.of(name, limit), limit);
    }

    Allocator allocator() {
        return opened.allocator();
    }

    Budget budget() {
        return budget;
    }

    long limit() {
        return limit;
    }

    /** Returns the bytes taken from the system, none after the close; what is in use, if there are no statistics. */
    long held() {
        try {
            return hasStatistics() ? allocator().stats().bytesHeld() : status().charge();
        } catch (AllocatorClosedException e) {
            return 0;
        }
    }

    private boolean hasStatistics() {
        return allocator().spiLevel() >= SpiLevel.STATISTICS;
    }

    /**
     * Returns free memory that is held to the system.
     *
     * @return whether the allocator can do that
     */
    boolean shrink() {
        if (!(allocator().as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable)
                || shrinkable.spiLevel() < SpiLevel.SHRINK) {
            return false;
        }
        final ShrinkReport ignored = shrinkable.shrink();
        return true;
    }

    Budget.Status status() {
        return budget.status();
    }

    /** Counts a request that was rejected for lack of memory. */
    void countFailure() {
        failures.increment();
    }

    long failures() {
        return failures.sum();
    }

    /**
     * Returns the memory to the system.
     *
     * @throws IllegalStateException if blocks are live; they stay valid, and no memory is returned
     */
    @Override
    public void close() {
        budget.close();
        final long live = hasStatistics() ? allocator().stats().bytesInUse() : status().charge();
        if (live > 0) {
            throw new IllegalStateException(live + " bytes of " + budget.path() + " are in use");
        }
        opened.close();
    }
}
