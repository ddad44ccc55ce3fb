package allocator.provider.support.internal;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The allocators that have allocated on a stream, so that the ends of its runs and its own end are reported to them,
 * and not to all allocators of its device.
 *
 * <p>An allocator that is not open any more is forgotten when the open ones are asked for, and whenever twice as many
 * are known as were open the last time: a stream keeps no more than that alive.
 *
 * <p>Safe for use by several threads. The predicate is called without a lock of this class.
 *
 * @param <A> type of the allocators, compared by identity
 */
public final class StreamUsers<A> {
    /** Allocators that may always be known, open or not. */
    private static final int LEAST_USERS = 16;

    private final Predicate<? super A> isOpen;

    private final Object lock = new Object();

    private final Set<A> users = Collections.newSetFromMap(new IdentityHashMap<>());

    /** How many allocators are known when the next one makes it worth while to look for those that are not open. */
    private int usersToPrune = LEAST_USERS;

    /** The latest, for which nothing is to be done. */
    private volatile @Nullable A latest;

    /**
     * Starts without allocators.
     *
     * @param isOpen whether an allocator is open still. What is not open never is again
     */
    public StreamUsers(Predicate<? super A> isOpen) {
        this.isOpen = isOpen;
    }

    /** Records that an allocator is about to allocate on the stream. If this throws, it has to allocate nothing. */
    @SuppressWarnings("ReferenceEquality") // what a foreign equals says does not matter
    public void add(A allocator) {
        if (latest != allocator) {
            addAnother(allocator);
        }
    }

    private void addAnother(A allocator) {
        final boolean isPruneDue;
        synchronized (lock) {
            users.add(allocator);
            latest = allocator;
            isPruneDue = users.size() > usersToPrune;
        }
        if (isPruneDue) {
            open();
        }
    }

    /**
     * Returns the allocators that have allocated on the stream, and forgets those that are not open.
     *
     * @return a copy, in no particular order
     */
    public List<A> open() {
        final List<A> all;
        synchronized (lock) {
            all = List.copyOf(users);
        }
        final List<A> open = new ArrayList<>(all.size());
        final List<A> closed = new ArrayList<>();
        for (A user : all) {
            (isOpen.test(user) ? open : closed).add(user);
        }
        forget(closed);
        return open;
    }

    private void forget(List<A> closed) {
        synchronized (lock) {
            if (!closed.isEmpty()) {
                latest = null;
                closed.forEach(users::remove);
            }
            usersToPrune = Math.max(LEAST_USERS, 2 * users.size());
        }
    }

    /** Returns how many allocators are known, open or not. */
    int count() {
        synchronized (lock) {
            return users.size();
        }
    }
}
