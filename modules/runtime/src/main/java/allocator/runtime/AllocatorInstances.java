package allocator.runtime;

import allocator.spi.Allocator;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The allocator instances that an environment holds references to. A provider may give out one instance many times;
 * here all its users are known together.
 */
final class AllocatorInstances {
    private final ReentrantLock lock = new ReentrantLock();
    private final IdentityHashMap<Allocator, Instance> byIdentity = new IdentityHashMap<>();

    /** Counts a further reference to an instance. */
    Instance acquire(Allocator allocator) {
        lock.lock();
        try {
            final Instance instance = byIdentity.computeIfAbsent(allocator, ignored -> new Instance());
            instance.references++;
            return instance;
        } finally {
            lock.unlock();
        }
    }

    /** Uncounts a reference, after the provider has it back. */
    void drop(Allocator allocator) {
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

    /** How many references to an instance are held. */
    int references(Instance instance) {
        lock.lock();
        try {
            return instance.references;
        } finally {
            lock.unlock();
        }
    }

    /** One instance and the block counters of all its users. */
    static final class Instance {
        private final ReentrantLock lock = new ReentrantLock();
        private final List<LiveBlocks> users = new ArrayList<>();
        private long carried;
        private int references;

        void add(LiveBlocks blocks) {
            lock.lock();
            try {
                users.add(blocks);
            } finally {
                lock.unlock();
            }
        }

        /**
         * Forgets a user that can allocate no more and seems to have no live blocks. The last user is forgotten only if
         * nobody's blocks are live: users may have freed one another's, so that a single count can mislead.
         *
         * @return whether the user is forgotten
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

        /** Whether no block of any user is live, although single users may have freed one another's blocks. */
        boolean isIdle() {
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
