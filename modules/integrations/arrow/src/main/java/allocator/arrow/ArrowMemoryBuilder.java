package allocator.arrow;

import allocator.provider.support.budget.Budget;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;
import org.jspecify.annotations.Nullable;

/** Collects the settings of an {@link ArrowMemory}. Not safe for use by several threads. */
public final class ArrowMemoryBuilder {
    static final String DEFAULT_PROVIDER = "cpu-reference";

    private AllocatorOptions options = AllocatorOptions.EMPTY;
    private @Nullable String provider;
    private @Nullable Allocator allocator;
    private @Nullable Function<BufferAllocator, Budget> budgets;
    private boolean isTrackingLeaks;
    private Duration shrinkInterval = Duration.ZERO;

    ArrowMemoryBuilder() {}

    /**
     * Takes memory from a provider on the module path or the class path, as an instance of its own.
     *
     * @param name the provider's name, {@code cpu-reference} unless this is called
     * @return this builder
     */
    public ArrowMemoryBuilder provider(String name) {
        provider = Objects.requireNonNull(name, "name");
        return this;
    }

    /**
     * Takes memory from an allocator that the application releases after its root allocators are closed: of a session,
     * an environment, a stack of resources.
     *
     * @param target an allocator of memory that the host can read and write, aligned to a multiple of 64 bytes
     * @return this builder
     */
    public ArrowMemoryBuilder allocator(Allocator target) {
        allocator = Objects.requireNonNull(target, "target");
        return this;
    }

    /**
     * Sets an option of the provider's allocator. {@code arena.keep_first_region} is {@code 0} unless it is set, where
     * the provider has it.
     *
     * @param key the key, such as {@code arena.max_mem}
     * @param value its value
     * @return this builder
     */
    public ArrowMemoryBuilder option(String key, String value) {
        return options(options.with(key, value, AllocatorOptions.EXPLICIT));
    }

    /** Replaces all options. */
    ArrowMemoryBuilder options(AllocatorOptions settings) {
        options = settings;
        return this;
    }

    /**
     * Charges all buffers to a budget, from before the memory is allocated until after it is freed.
     *
     * @param budget the budget, to which other memory may be charged as well
     * @return this builder
     */
    public ArrowMemoryBuilder budget(Budget budget) {
        Objects.requireNonNull(budget, "budget");
        return budgets(allocator -> budget);
    }

    /**
     * Charges the buffers of each Arrow allocator to a child of a budget: one of its name, below the child of its
     * parent allocator; the child of a root allocator is below the budget itself. The message of a failed request then
     * names the three that hold most, and a WARNING lists all. The children have no limits of their own, as Arrow
     * enforces those of its allocators. A buffer that is transferred stays charged to the allocator that allocated it.
     *
     * @param budget the budget above all of them
     * @return this builder
     */
    public ArrowMemoryBuilder childBudgets(Budget budget) {
        return budgets(new ChildBudgets(Objects.requireNonNull(budget, "budget")));
    }

    /**
     * Charges each buffer to the budget that a function returns for the Arrow allocator that allocates it.
     *
     * @param function called for each buffer, by any thread; never returns {@code null}
     * @return this builder
     */
    public ArrowMemoryBuilder budgets(Function<BufferAllocator, Budget> function) {
        budgets = Objects.requireNonNull(function, "function");
        return this;
    }

    /**
     * Stores the call stack of each live buffer, for {@link ArrowMemory#liveBuffers}. An allocation then takes some
     * microseconds more.
     *
     * @return this builder
     */
    public ArrowMemoryBuilder trackLeaks() {
        isTrackingLeaks = true;
        return this;
    }

    /**
     * Has a daemon thread look at intervals whether at most half of the memory held is in use, and shrink it if so.
     *
     * @param interval the interval, rounded down to seconds; {@link Duration#ZERO}, the default, for never
     * @return this builder
     * @throws IllegalArgumentException if it is negative, or below a second and not zero
     */
    public ArrowMemoryBuilder shrinkEvery(Duration interval) {
        if (interval.isNegative() || (interval.toSeconds() == 0 && !interval.isZero())) {
            throw new IllegalArgumentException("an interval of " + interval + "; it must be zero or at least a second");
        }
        shrinkInterval = interval;
        return this;
    }

    /**
     * Opens the memory.
     *
     * @return the memory, which the caller closes after the root allocators that use it
     * @throws IllegalArgumentException if the provider is not found; if its memory or that of the allocator is not
     *     suitable; or if options or a provider are given together with an allocator
     * @throws InvalidOptionException if an option is unknown or its value not accepted
     * @throws IllegalStateException if Arrow is older than this module supports, or the provider has no native access;
     *     the message has the versions, or the flag of the JVM
     */
    public ArrowMemory open() {
        ArrowVersion.requireSupported();
        final Allocator given = allocator;
        if (given != null && (provider != null || !options.isEmpty())) {
            throw new IllegalArgumentException(
                    "provider and options are for a provider's allocator, but an allocator was given: " + provider
                            + ", " + options.keys());
        }
        final HostMemory memory = given != null
                ? HostMemory.of(given)
                : HostMemory.ofProvider(provider == null ? DEFAULT_PROVIDER : provider, options);
        final ArrowMemory opened = new ArrowMemory(memory, budgets, isTrackingLeaks ? new AllocationSites() : null);
        boolean isOpen = false;
        try {
            opened.shrinkEvery(shrinkInterval.toSeconds());
            isOpen = true;
            return opened;
        } finally {
            if (!isOpen) {
                opened.close();
            }
        }
    }
}
