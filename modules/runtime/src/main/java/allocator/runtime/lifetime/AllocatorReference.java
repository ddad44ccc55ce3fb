package allocator.runtime.lifetime;

import allocator.spi.Allocator;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One reference to a provider's allocator. Several leases may use it; the last one to end returns it to the provider,
 * so a session that uses a shared allocator may outlive the allocator's replacement.
 */
public final class AllocatorReference {
    private final Allocator allocator;
    private final String provider;
    private final List<OptionKey<?>> keys;
    private final AllocatorInstances.Instance instance;
    private final Runnable giveBack;
    private final AtomicInteger users = new AtomicInteger(1);

    /**
     * Makes the reference, with one user: the caller.
     *
     * @param allocator the allocator
     * @param provider the provider's name
     * @param keys the keys that the provider understands; empty for an allocator of the application
     * @param instance the allocator's entry among the instances
     * @param giveBack returns the reference to the provider
     */
    public AllocatorReference(
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

    /**
     * Returns the allocator.
     *
     * @return the provider's allocator
     */
    public Allocator allocator() {
        return allocator;
    }

    /**
     * Returns the provider's name.
     *
     * @return the name
     */
    public String provider() {
        return provider;
    }

    /**
     * Returns the keys that the provider understands.
     *
     * @return the keys; empty for an allocator of the application
     */
    public List<OptionKey<?>> keys() {
        return keys;
    }

    /**
     * Returns the allocator's entry among the instances.
     *
     * @return the entry
     */
    public AllocatorInstances.Instance instance() {
        return instance;
    }

    /**
     * Returns how many leases and plans use this reference.
     *
     * @return the count
     */
    public int users() {
        return users.get();
    }

    /**
     * Adds a user. The caller ensures that another user exists during the call.
     *
     * @return this reference
     */
    public AllocatorReference retain() {
        users.incrementAndGet();
        return this;
    }

    /**
     * Removes a user. The last one returns the reference to the provider.
     *
     * @throws RuntimeException what the provider threw; the reference counts as returned
     */
    public void release() {
        if (users.decrementAndGet() == 0) {
            giveBack.run();
        }
    }
}
