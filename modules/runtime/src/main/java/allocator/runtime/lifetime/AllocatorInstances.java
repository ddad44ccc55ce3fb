package allocator.runtime.lifetime;

import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The allocator instances to which an environment holds references. A provider may return one instance many times; this
 * class knows all users of it. It also remembers the references that a provider failed to take back.
 *
 * <p>Its monitor guards the counts of all references, instances and leases, and the states of the leases.
 */
public final class AllocatorInstances {
    /** With at most so many users, their counts are added up whenever that may release one of them. */
    private static final int FEW_USERS = 64;

    /** By allocator; by the entry itself until its allocator is known. */
    private final IdentityHashMap<Object, Instance> byIdentity = new IdentityHashMap<>();

    /** The references whose return failed, linked. */
    private @Nullable AllocatorReference unreturned;

    /** Starts without instances. */
    public AllocatorInstances() {}

    /**
     * Counts a reference to an allocator that is created, or returned once more, by a call. The room of its entry is
     * made before the call.
     */
    Instance enter(Supplier<Allocator> create) {
        final Instance fresh = new Instance();
        synchronized (this) {
            byIdentity.put(fresh, fresh);
        }
        Allocator created = null;
        try {
            created = create.get();
        } finally {
            if (created == null) {
                replace(fresh, null);
            }
        }
        return replace(fresh, created);
    }

    /** Takes an entry out and, in its place, counts a reference to an allocator. Needs no Java heap. */
    private synchronized Instance replace(Instance fresh, @Nullable Allocator created) {
        byIdentity.remove(fresh);
        if (created == null) {
            return fresh;
        }
        final Instance known = byIdentity.get(created);
        final Instance instance = known == null ? fresh : known;
        if (known == null) {
            fresh.allocator = created;
            byIdentity.put(created, fresh);
        }
        instance.references++;
        return instance;
    }

    /** Uncounts a reference that its provider has taken back, or remembers one that it has not. Needs no Java heap. */
    synchronized void returned(AllocatorReference reference, boolean isTaken) {
        if (!isTaken) {
            reference.next = unreturned;
            unreturned = reference;
        } else if (--reference.instance().references == 0) {
            byIdentity.remove(reference.allocator());
        }
    }

    /**
     * Returns again the references that their providers failed to take back. No other reference to these instances may
     * be out: if the first attempt had its effect, the provider would take another user's reference for it.
     *
     * @param which chooses by the provider's name
     * @param failures receives the failures; what failed is remembered for another attempt
     */
    public void returnAgain(Predicate<String> which, Failures failures) {
        AllocatorReference next;
        synchronized (this) {
            next = unreturned;
            unreturned = null;
        }
        while (next != null) {
            final AllocatorReference reference = next;
            next = reference.next;
            if (which.test(reference.provider())) {
                try {
                    reference.giveBack(true);
                } catch (Throwable e) {
                    failures.add(e);
                }
            } else {
                returned(reference, false);
            }
        }
    }

    /** {@return how many references to an instance are held, or not returned yet} */
    public synchronized int references(Instance instance) {
        return instance.references;
    }

    /**
     * One instance and the block counts of all its users, who may free one another's blocks: then the counts of single
     * users mislead, and only their sum is exact. Guarded by the monitor of the instances.
     */
    public final class Instance {
        private final Set<Lease> users = new HashSet<>();
        private @Nullable Allocator allocator;
        private int references;

        /** What the counts of users were that have been removed. */
        private long carried;

        /** The calls of {@link #drained} since the counts were added up and a block was live. */
        private int skipped;

        private Instance() {}

        Allocator allocator() {
            return Objects.requireNonNull(allocator);
        }

        void add(Lease lease) {
            synchronized (AllocatorInstances.this) {
                users.add(lease);
            }
        }

        /**
         * Returns whether a lease that rejects allocations has no live block: its own count is zero, or that of all
         * users is; of the last user only the latter counts. Needs no Java heap where its own count is zero.
         */
        boolean hasNone(Lease lease) {
            return users.size() == 1 ? carried + lease.count() == 0 : lease.count() == 0 || isIdle();
        }

        /** Removes a lease, whose count is carried over. Needs no Java heap. */
        void remove(Lease lease) {
            users.remove(lease);
            lease.carried = lease.count();
            carried += lease.carried;
        }

        /** Corrects the count carried over from a removed lease, if a thread has changed it since; returns whether. */
        boolean carryOver(Lease removed) {
            synchronized (AllocatorInstances.this) {
                final long change = removed.count() - removed.carried;
                carried += change;
                removed.carried += change;
                return change != 0;
            }
        }

        /**
         * Returns the users that are draining; none if a block is live. None of them will have a live block again.
         *
         * <p>The time is proportional to the number of users. Where there are many, the counts are added up for one
         * call in so many that this is a constant for each, and the others return none.
         */
        List<Lease> drained() {
            synchronized (AllocatorInstances.this) {
                if (users.size() > FEW_USERS && skipped < users.size() / 8) {
                    skipped++;
                    return List.of();
                }
                if (!isIdle()) {
                    skipped = 0;
                    return List.of();
                }
                final List<Lease> draining = new ArrayList<>();
                for (final Lease user : users) {
                    if (user.isDraining()) {
                        draining.add(user);
                    }
                }
                return draining;
            }
        }

        /** {@return whether no block of any user is live} Takes time proportional to the number of users. */
        public boolean isIdle() {
            synchronized (AllocatorInstances.this) {
                long live = carried;
                for (final Lease user : users) {
                    live -= user.ended(); // all of them first: a block that is counted as ended has begun
                }
                for (final Lease user : users) {
                    live += user.begun();
                }
                return live == 0;
            }
        }
    }
}
