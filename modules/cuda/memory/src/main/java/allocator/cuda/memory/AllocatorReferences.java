package allocator.cuda.memory;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The allocators that are out on one device, each with its users, and which of them are shared.
 *
 * <p>Safe for use by any thread. Making an allocator happens inside the lock, so that two users who come first at once
 * get the same one; destroying one happens outside, by whoever gave the last reference back.
 */
final class AllocatorReferences {
    private final IdentityHashMap<CudaAllocator, Users> usersOf = new IdentityHashMap<>();
    private final Map<Object, CudaAllocator> shared = new HashMap<>();

    /** How many references to an allocator are out, and what it is shared as. */
    private static final class Users {
        final @Nullable Object key;
        int count = 1;

        Users(@Nullable Object key) {
            this.key = key;
        }
    }

    /** One reference more to the allocator that is shared under a key, which is made if there is none. */
    synchronized CudaAllocator acquireShared(Object key, Supplier<? extends CudaAllocator> maker) {
        final CudaAllocator present = shared.get(key);
        final Users users = present == null ? null : usersOf.get(present);
        if (present != null && users != null) {
            users.count++;
            return present;
        }
        final CudaAllocator allocator = maker.get();
        shared.put(key, allocator);
        usersOf.put(allocator, new Users(key));
        return allocator;
    }

    /** The first and only reference to a new allocator. */
    synchronized CudaAllocator acquireOwn(Supplier<? extends CudaAllocator> maker) {
        final CudaAllocator allocator = maker.get();
        usersOf.put(allocator, new Users(null));
        return allocator;
    }

    /** What became of a reference that was given back. */
    enum Release {
        /** There was none. */
        UNKNOWN,
        /** Others are out. */
        STILL_USED,
        /** It was the last; the caller destroys the allocator. */
        LAST
    }

    synchronized Release release(Object allocator) {
        final Users users = usersOf.get(allocator);
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

    synchronized List<CudaAllocator> all() {
        return List.copyOf(usersOf.keySet());
    }

    synchronized int count() {
        return usersOf.size();
    }
}
