package allocator.provider.support;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The allocators that a factory has created and not got back, each with its number of references, and which of them are
 * shared (F-04, F-07).
 *
 * <p>Safe for use by several threads. An allocator is made inside the lock, so that two concurrent first users get the
 * same one; it is destroyed outside, by the caller that released the last reference. Room in the tables is made before
 * the maker is called, so that an allocator that was made is never lost.
 *
 * @param <A> type of the allocators
 */
public final class References<A extends Allocator> {
    /** By allocator. */
    private final IdentityHashMap<Object, Users<A>> usersOf = new IdentityHashMap<>();

    private final Map<Object, Users<A>> shared = new HashMap<>();

    /** The references to one allocator, and the key that it is shared under. */
    private static final class Users<A> {
        final @Nullable Object key;

        @Nullable
        A allocator;

        int count;

        Users(@Nullable Object key) {
            this.key = key;
        }
    }

    /** The outcome of {@link #release}. */
    public enum Release {
        /** There was no reference to release: an error of the caller, which changed nothing. */
        UNKNOWN,
        /** Other references are out. */
        STILL_USED,
        /** It was the last reference; the caller destroys the allocator. */
        LAST
    }

    /** Creates a table without references. */
    public References() {}

    /**
     * Adds a reference to the allocator that is shared under a key; makes the allocator if there is none.
     *
     * @param key identifies the shared allocator, by {@code equals}
     * @param maker makes an allocator; called at most once, inside the lock. If it throws, nothing changes
     * @return the allocator
     */
    public synchronized A acquireShared(Object key, Supplier<? extends A> maker) {
        final Users<A> present = shared.get(key);
        if (present != null && present.allocator != null) {
            present.count++;
            return present.allocator;
        }
        final Users<A> users = new Users<>(key);
        shared.put(key, users);
        try {
            return make(users, maker);
        } catch (Throwable e) {
            shared.remove(key);
            throw e;
        }
    }

    /** Makes an allocator and enters it, which cannot fail once it is made. */
    private A make(Users<A> users, Supplier<? extends A> maker) {
        usersOf.put(users, users); // grows the table if need be; a removal does not shrink it
        usersOf.remove(users);
        final A allocator = maker.get();
        users.allocator = allocator;
        users.count = 1;
        usersOf.put(allocator, users);
        return allocator;
    }

    /**
     * Makes an allocator that is not shared, with one reference.
     *
     * @param maker makes an allocator, inside the lock. If it throws, nothing changes
     * @return the allocator
     */
    public synchronized A acquireExclusive(Supplier<? extends A> maker) {
        return make(new Users<>(null), maker);
    }

    /**
     * Releases one reference.
     *
     * @param allocator the allocator, compared by identity
     * @return the outcome
     */
    public synchronized Release release(Allocator allocator) {
        final Users<A> users = usersOf.get(allocator);
        if (users == null) {
            return Release.UNKNOWN;
        }
        if (users.count > 1) {
            users.count--;
            return Release.STILL_USED;
        }
        if (users.key != null) {
            shared.remove(users.key); // first, as the key's own methods may fail
        }
        usersOf.remove(allocator);
        return Release.LAST;
    }

    /**
     * Calls an action with each allocator that has references, outside the lock. All are called, whatever an action
     * throws. An allocator whose last reference is released meanwhile may be closed: its
     * {@link AllocatorClosedException} is ignored.
     *
     * @param action what to do; the first thing that it throws, this method throws at the end, with the others
     *     suppressed
     */
    public void forEachOpen(Consumer<? super A> action) {
        forEachOpen(all(), action);
    }

    /**
     * Calls an action with some allocators, as {@link #forEachOpen(Consumer)} does with all.
     *
     * @param some allocators that have references here or elsewhere, or had them a moment ago
     * @param action what to do
     * @param <B> their type
     */
    public <B extends A> void forEachOpen(List<B> some, Consumer<? super B> action) {
        final Failures failure = new Failures();
        for (B allocator : some) {
            try {
                action.accept(allocator);
            } catch (AllocatorClosedException e) {
                if (isOpen(allocator)) {
                    failure.add(e);
                }
            } catch (Throwable e) {
                failure.add(e);
            }
        }
        failure.throwIfAny();
    }

    /**
     * {@return whether an allocator has references}
     *
     * @param allocator the allocator, compared by identity
     */
    public synchronized boolean isOpen(Allocator allocator) {
        return usersOf.containsKey(allocator);
    }

    /** {@return a copy of the list of referenced allocators, unordered; another thread may release and close them} */
    public synchronized List<A> all() {
        final List<A> allocators = new ArrayList<>(usersOf.size());
        for (Users<A> users : usersOf.values()) {
            if (users.allocator != null) {
                allocators.add(users.allocator);
            }
        }
        return allocators;
    }

    /** {@return how many allocators have references, shared ones counted once} */
    public synchronized int count() {
        return usersOf.size();
    }
}
