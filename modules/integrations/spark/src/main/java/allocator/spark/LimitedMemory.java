package allocator.spark;

import allocator.provider.support.Limit;
import allocator.provider.support.NamedAllocator;
import allocator.resource.budget.Budget;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
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
                Map.of(),
                ORIGIN);
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

    /** Returns the bytes taken from the system; what is in use, if the provider has no statistics. */
    long held() {
        final Allocator allocator = allocator();
        return allocator.spiLevel() >= SpiLevel.STATISTICS ? allocator.stats().bytesHeld() : status().charge();
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

    @Override
    public void close() {
        budget.close();
        opened.close();
    }
}
