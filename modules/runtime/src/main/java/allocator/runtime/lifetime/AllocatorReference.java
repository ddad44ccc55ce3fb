package allocator.runtime.lifetime;

import allocator.provider.support.internal.Failures;
import allocator.runtime.lifetime.AllocatorInstances.Instance;
import allocator.spi.Allocator;
import allocator.spi.OptionKey;
import allocator.spi.UnknownAllocatorException;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One reference to a provider's allocator. Several leases may use it; the last one to end returns it to the provider,
 * so a session that uses a shared allocator may outlive the allocator's replacement.
 *
 * <p>A return that fails is remembered by the {@linkplain AllocatorInstances#returnAgain instances}.
 */
public final class AllocatorReference {
    private final AllocatorInstances instances;
    private final String provider;
    private final List<OptionKey<?>> keys;
    private final Consumer<Allocator> giveBack;
    private final Instance instance;

    /** The next one whose return failed. Like what follows, guarded by the instances. */
    @Nullable
    AllocatorReference next;

    private int users = 1;

    /**
     * Creates an allocator and the reference to it, with one user: the caller. Whatever {@code create} throws, nothing
     * is counted; once it has returned, nothing fails.
     *
     * @param instances counts the reference
     * @param keys the keys that the provider understands; empty for an allocator of the application
     * @param create creates the allocator, or returns one that exists
     * @param giveBack returns the reference to the provider
     */
    public AllocatorReference(
            AllocatorInstances instances,
            String provider,
            List<OptionKey<?>> keys,
            Supplier<Allocator> create,
            Consumer<Allocator> giveBack) {
        this.instances = instances;
        this.provider = provider;
        this.keys = keys;
        this.giveBack = giveBack;
        instance = instances.enter(create);
    }

    /** {@return the provider's allocator} */
    public Allocator allocator() {
        return instance.allocator();
    }

    /** {@return the provider's name} */
    public String provider() {
        return provider;
    }

    /** {@return the keys that the provider understands; empty for an allocator of the application} */
    public List<OptionKey<?>> keys() {
        return keys;
    }

    /** {@return the allocator's entry among the instances} */
    public Instance instance() {
        return instance;
    }

    /** Returns what guards the counts. */
    AllocatorInstances instances() {
        return instances;
    }

    /** {@return how many leases and plans use this reference} */
    public int users() {
        synchronized (instances) {
            return users;
        }
    }

    /** Adds a user. The caller ensures that another user exists during the call. Needs no Java heap. */
    public AllocatorReference retain() {
        synchronized (instances) {
            users++;
        }
        return this;
    }

    /**
     * Removes a user. The last one returns the reference to the provider.
     *
     * @throws RuntimeException what the provider threw, such as a {@link allocator.spi.DeviceException} that names the
     *     bytes that the device has not taken back
     */
    public void release() {
        if (removeUser()) {
            giveBack(false);
        }
    }

    /** Removes a user after a failure, which suppresses that of the return. Does not throw. */
    public void releaseAfter(Throwable failure) {
        try {
            release();
        } catch (Throwable e) {
            Failures.suppress(failure, e);
        }
    }

    /** Removes a user; if it was the last one, the caller calls {@link #giveBack} next. */
    boolean removeUser() {
        synchronized (instances) {
            users--;
            return users == 0;
        }
    }

    /**
     * Calls the provider.
     *
     * @param isAgain whether an earlier call failed, and may have had its effect
     */
    void giveBack(boolean isAgain) {
        boolean isTaken = false;
        try {
            giveBack.accept(allocator());
            isTaken = true;
        } catch (UnknownAllocatorException e) {
            isTaken = true;
            if (!isAgain) {
                throw e;
            }
        } finally {
            instances.returned(this, isTaken);
        }
    }
}
