package allocator.runtime.lifetime;

import allocator.provider.support.StackReserve;
import allocator.runtime.lifetime.AllocatorInstances.Instance;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.OptionKey;
import allocator.spi.UnknownAllocatorException;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One reference to a provider's allocator. Several leases may use it; the last one to end returns it to the provider,
 * so a session that uses a shared allocator may outlive the allocator's replacement.
 *
 * <p>A return that fails with a {@link DeviceException} has taken effect, by the contract. After any other failure it
 * is unknown whether it has, and the reference waits among the {@linkplain AllocatorInstances#returnAll instances} for
 * another attempt. That is made while no other reference to the instance is held or on its way back: if the first one
 * had taken effect, the provider then rejects the second with an {@link UnknownAllocatorException}, and nobody's
 * reference is taken.
 */
public final class AllocatorReference {
    private final AllocatorInstances instances;
    private final String provider;
    private final List<OptionKey<?>> keys;
    private final Consumer<Allocator> giveBack;
    private @Nullable Allocator allocator;
    private @Nullable Instance instance;

    /** The neighbours among those that wait for their return. They and what follows: guarded by the instances. */
    @Nullable
    AllocatorReference next;

    @Nullable
    AllocatorReference previous;

    private int users = 1;
    private boolean isReturning;

    private boolean isReturned;

    /** Whether a return was attempted and may have taken effect. */
    private boolean isUnsure;

    private AllocatorReference(
            AllocatorInstances instances, String provider, List<OptionKey<?>> keys, Consumer<Allocator> giveBack) {
        this.instances = instances;
        this.provider = provider;
        this.keys = keys;
        this.giveBack = giveBack;
    }

    /**
     * Creates an allocator and the reference to it, with one user: the caller. Whatever {@code create} throws, nothing
     * is counted; once it has returned, nothing fails.
     *
     * @param instances counts the reference
     * @param provider the provider's name
     * @param keys the keys that the provider understands; empty for an allocator of the application
     * @param create creates the allocator, or returns one that exists
     * @param giveBack returns the reference to the provider
     * @return the reference
     */
    public static AllocatorReference create(
            AllocatorInstances instances,
            String provider,
            List<OptionKey<?>> keys,
            Supplier<Allocator> create,
            Consumer<Allocator> giveBack) {
        final AllocatorReference reference = new AllocatorReference(instances, provider, keys, giveBack);
        StackReserve.touch();
        final Instance reserved = instances.reserve();
        boolean isCreated = false;
        try {
            final Allocator created = create.get();
            reference.allocator = created;
            reference.instance = instances.commit(reserved, created);
            isCreated = true;
        } finally {
            if (!isCreated) {
                instances.cancel(reserved);
            }
        }
        return reference;
    }

    /**
     * Returns the allocator.
     *
     * @return the provider's allocator
     */
    public Allocator allocator() {
        return Objects.requireNonNull(allocator);
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
    public Instance instance() {
        return Objects.requireNonNull(instance);
    }

    /** Returns what guards the counts. */
    AllocatorInstances instances() {
        return instances;
    }

    /**
     * Returns how many leases and plans use this reference.
     *
     * @return the count
     */
    public int users() {
        synchronized (instances) {
            return users;
        }
    }

    /**
     * Adds a user. The caller ensures that another user exists during the call. Allocates nothing.
     *
     * @return this reference
     */
    public AllocatorReference retain() {
        synchronized (instances) {
            users++;
        }
        return this;
    }

    /**
     * Returns whether the provider is taking the reference back at this moment.
     *
     * @return whether a return is in progress
     */
    public boolean isReturning() {
        synchronized (instances) {
            return isReturning;
        }
    }

    /**
     * Removes a user. The last one returns the reference to the provider.
     *
     * @throws RuntimeException what the provider threw; the return is {@linkplain AllocatorInstances#returnAll tried
     *     again} if it may not have taken effect
     */
    public void release() {
        StackReserve.touch();
        if (removeUser()) {
            giveBack();
        }
    }

    /**
     * Removes a user after a failure, which suppresses that of the return. Never throws.
     *
     * @param failure the failure
     */
    public void releaseAfter(Throwable failure) {
        try {
            release();
        } catch (Throwable again) {
            Cleanup.suppress(failure, again);
        }
    }

    /**
     * Removes a user, in plain stores. If it was the last one, the caller calls {@link #giveBack} at once, on a thread
     * that has {@linkplain StackReserve touched} its stack.
     */
    boolean removeUser() {
        synchronized (instances) {
            users--;
            if (users == 0) {
                instances.addUnreturned(this);
                isReturning = true;
            }
            return users == 0;
        }
    }

    /**
     * Returns the reference if an earlier attempt failed and another one can do no harm: if that one took effect, the
     * provider takes this one for the return of any other reference to the instance, also of one that it has counted
     * and is just handing out. Another thread may have returned it since the caller found it among those that wait.
     */
    void tryAgain() {
        StackReserve.touch();
        synchronized (instances) {
            if (isReturned || isReturning || instance().isHeld() || instances.isAnyReserved()) {
                return;
            }
            isReturning = true;
        }
        giveBack();
    }

    /** Calls the provider. One thread at a time: the one that has set {@code isReturning}. */
    void giveBack() {
        final boolean isRepeated = isUnsure;
        isUnsure = true;
        boolean hasTakenEffect = false;
        try {
            giveBack.accept(allocator());
            hasTakenEffect = true;
        } catch (DeviceException e) {
            hasTakenEffect = true;
            throw e;
        } catch (UnknownAllocatorException e) {
            hasTakenEffect = true;
            if (!isRepeated) {
                throw e;
            }
        } finally {
            synchronized (instances) {
                isReturning = false;
                if (!isRepeated) {
                    instance().endHold();
                }
                if (hasTakenEffect) {
                    isReturned = true;
                    instances.removeReturned(this, allocator(), instance());
                }
            }
        }
    }
}
