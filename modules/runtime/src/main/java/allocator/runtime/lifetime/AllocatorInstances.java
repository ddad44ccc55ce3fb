package allocator.runtime.lifetime;

import allocator.spi.Allocator;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The allocator instances to which an environment holds references. A provider may return one instance many times; this
 * class knows all users of it.
 */
public final class AllocatorInstances {
    private final ReentrantLock lock = new ReentrantLock();
    private final IdentityHashMap<Allocator, Instance> byIdentity = new IdentityHashMap<>();

    /** Starts without instances. */
    public AllocatorInstances() {}

    /**
     * Counts a further reference to an instance.
     *
     * @param allocator the instance
     * @return its entry
     */
    public Instance acquire(Allocator allocator) {
        lock.lock();
        try {
            final Instance instance = byIdentity.computeIfAbsent(allocator, ignored -> new Instance());
            instance.references++;
            return instance;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Uncounts a reference, after the provider has it back.
     *
     * @param allocator the instance
     */
    public void drop(Allocator allocator) {
        lock.lock();
        try {
            final Instance instance = byIdentity.get(allocator);
            if (instance != null && --instance.references == 0) {
                byIdentity.remove(allocator);
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns how many references to an instance are held.
     *
     * @param instance its entry
     * @return the count
     */
    public int references(Instance instance) {
        lock.lock();
        try {
            return instance.references;
        } finally {
            lock.unlock();
        }
    }

    /** One instance and the block counts of all its users. */
    public static final class Instance {
        private final ReentrantLock lock = new ReentrantLock();
        private final List<LiveBlocks> users = new ArrayList<>();
        private long carried;
        private int references;

        private Instance() {}

        void add(LiveBlocks blocks) {
            lock.lock();
            try {
                users.add(blocks);
            } finally {
                lock.unlock();
            }
        }

        /**
         * Removes a user that rejects allocations and seems to have no live blocks. The last user is removed only if no
         * user's blocks are live: users may have freed one another's blocks, so a single count can mislead.
         *
         * @return whether the user was removed
         */
        boolean remove(LiveBlocks blocks) {
            lock.lock();
            try {
                if (users.size() == 1 && !isIdle()) {
                    return false;
                }
                users.remove(blocks);
                carried += blocks.count();
                return true;
            } finally {
                lock.unlock();
            }
        }

        /**
         * Returns whether no block of any user is live, although single users may have freed one another's blocks.
         *
         * @return whether the counts of all users add up to zero
         */
        public boolean isIdle() {
            lock.lock();
            try {
                final long ended = users.stream().mapToLong(LiveBlocks::ended).sum();
                final long begun = users.stream().mapToLong(LiveBlocks::begun).sum();
                return begun - ended + carried == 0;
            } finally {
                lock.unlock();
            }
        }
    }
}
