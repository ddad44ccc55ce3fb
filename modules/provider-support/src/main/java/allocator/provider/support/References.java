package allocator.provider.support;

import allocator.spi.Allocator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The allocators that a factory has created and not got back, each with its number of references, and which of them are
 * shared (F-04, F-07).
 *
 * <p>Safe for use by several threads. An allocator is made inside the lock, so that two concurrent first users get the
 * same one; it is destroyed outside, by the caller that released the last reference.
 *
 * @param <A> type of the allocators
 */
public final class References<A extends Allocator> {
    private final IdentityHashMap<Allocator, Users<A>> usersOf = new IdentityHashMap<>();
    private final Map<Object, A> shared = new HashMap<>();

    /** The references to one allocator, and the key that it is shared under. */
    private static final class Users<A> {
        final A allocator;
        final @Nullable Object key;
        int count = 1;

        Users(A allocator, @Nullable Object key) {
            this.allocator = allocator;
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
        final A present = shared.get(key);
        final Users<A> users = present == null ? null : usersOf.get(present);
        if (present != null && users != null) {
            users.count++;
            return present;
        }
        final A allocator = maker.get();
        shared.put(key, allocator);
        usersOf.put(allocator, new Users<>(allocator, key));
        return allocator;
    }

    /**
     * Makes an allocator that is not shared, with one reference.
     *
     * @param maker makes an allocator, inside the lock. If it throws, nothing changes
     * @return the allocator
     */
    public synchronized A acquireExclusive(Supplier<? extends A> maker) {
        final A allocator = maker.get();
        usersOf.put(allocator, new Users<>(allocator, null));
        return allocator;
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
        if (--users.count > 0) {
            return Release.STILL_USED;
        }
        usersOf.remove(allocator);
        if (users.key != null) {
            shared.remove(users.key);
        }
        return Release.LAST;
    }

    /**
     * Returns the allocators that have references.
     *
     * @return a copy, in no particular order
     */
    public synchronized List<A> all() {
        return usersOf.values().stream().map(users -> users.allocator).toList();
    }

    /**
     * Returns how many allocators have references.
     *
     * @return the number of allocators, shared ones counted once
     */
    public synchronized int count() {
        return usersOf.size();
    }
}
