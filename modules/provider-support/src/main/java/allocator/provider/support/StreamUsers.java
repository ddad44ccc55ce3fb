package allocator.provider.support;

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
 * <p>Safe for use by several threads.
 *
 * @param <A> type of the allocators, compared by identity
 */
public final class StreamUsers<A> {
    /** Guarded by itself. */
    private final Set<A> users = Collections.newSetFromMap(new IdentityHashMap<>(2));

    /** The latest, for which nothing is to be done. */
    private volatile @Nullable A latest;

    /** Starts without allocators. */
    public StreamUsers() {}

    /**
     * Records that an allocator is about to allocate on the stream. If this method throws, it has to allocate nothing.
     *
     * @param allocator the allocator
     */
    @SuppressWarnings("ReferenceEquality") // what a foreign equals says does not matter
    public void add(A allocator) {
        if (latest != allocator) {
            addAnother(allocator);
        }
    }

    private void addAnother(A allocator) {
        StackReserve.touch();
        synchronized (users) {
            users.add(allocator);
            latest = allocator;
        }
    }

    /**
     * Returns the allocators that have allocated on the stream.
     *
     * @param isOpen whether an allocator has references still; all others are forgotten
     * @return a copy, in no particular order
     */
    public List<A> open(Predicate<? super A> isOpen) {
        StackReserve.touch();
        synchronized (users) {
            if (users.removeIf(user -> !isOpen.test(user))) {
                latest = null;
            }
            return List.copyOf(users);
        }
    }
}
