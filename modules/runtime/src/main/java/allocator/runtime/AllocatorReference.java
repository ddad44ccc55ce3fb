package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One reference to a provider's allocator. Several {@link ManagedAllocator}s may use it; the last one to end gives it
 * back. That is how a session that uses a shared allocator outlives the allocator's replacement.
 */
final class AllocatorReference {
    private final Allocator allocator;
    private final String provider;
    private final List<OptionKey<?>> keys;
    private final AllocatorInstances.Instance instance;
    private final Runnable giveBack;
    private final AtomicInteger users = new AtomicInteger(1);

    /**
     * Makes the reference, with one user: the caller.
     *
     * @param giveBack returns it to where it came from
     */
    AllocatorReference(
            Allocator allocator,
            String provider,
            List<OptionKey<?>> keys,
            AllocatorInstances.Instance instance,
            Runnable giveBack) {
        this.allocator = allocator;
        this.provider = provider;
        this.keys = keys;
        this.instance = instance;
        this.giveBack = giveBack;
    }

    Allocator allocator() {
        return allocator;
    }

    String provider() {
        return provider;
    }

    /** The keys that the provider understands; empty for an allocator of the application. */
    List<OptionKey<?>> keys() {
        return keys;
    }

    AllocatorInstances.Instance instance() {
        return instance;
    }

    /** How many use this reference now. */
    int users() {
        return users.get();
    }

    /** Adds a user. The caller makes sure that there is one meanwhile. */
    AllocatorReference retain() {
        users.incrementAndGet();
        return this;
    }

    /** Ends a user. The last one gives the reference back, which may throw; it counts as given back all the same. */
    void release() {
        if (users.decrementAndGet() == 0) {
            giveBack.run();
        }
    }
}
