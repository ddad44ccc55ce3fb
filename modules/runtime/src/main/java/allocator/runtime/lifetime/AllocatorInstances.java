package allocator.runtime.lifetime;

import allocator.spi.Allocator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The allocator instances to which an environment holds references. A provider may return one instance many times; this
 * class knows all users of it. It also knows the references that are on their way back to their provider, so that a
 * return that failed is tried again.
 *
 * <p>Its monitor guards the counts of all references, instances and leases.
 */
public final class AllocatorInstances {
    /** For so many instances, and users of one, a table always may have room. */
    private static final int LEAST_PLACES = 64;

    /** By allocator. A {@linkplain #reserve reserved} entry is its own key, until its allocator is known. */
    private IdentityHashMap<Object, Instance> byIdentity = new IdentityHashMap<>();

    /** The references without users that no provider has taken back yet, linked. */
    private @Nullable AllocatorReference unreturned;

    /** The reserved entries: the calls for an allocator that are under way, each of which may return any instance. */
    private int reserved;

    /** The most instances since the map was made: its size, as such a map does not shrink. */
    private int mostInstances;

    /** Starts without instances. */
    public AllocatorInstances() {}

    /** Makes room for an instance, so that {@link #commit} allocates nothing. */
    synchronized Instance reserve() {
        final Instance fresh = new Instance();
        byIdentity.put(fresh, fresh);
        mostInstances = Math.max(mostInstances, byIdentity.size());
        reserved++;
        return fresh;
    }

    /** Gives up a reserved entry. */
    synchronized void cancel(Instance fresh) {
        byIdentity.remove(fresh);
        reserved--;
    }

    /** Returns whether calls for an allocator are under way. Called under this monitor. */
    boolean isAnyReserved() {
        return reserved > 0;
    }

    /**
     * Counts a reference to an instance, in place of a reserved entry. Allocates nothing: the map has as many entries
     * afterwards as before, or one less.
     *
     * @return its entry: the reserved one if the instance is new
     */
    synchronized Instance commit(Instance fresh, Allocator allocator) {
        byIdentity.remove(fresh);
        final Instance known = byIdentity.get(allocator);
        final Instance instance = known == null ? fresh : known;
        if (known == null) {
            byIdentity.put(allocator, instance);
        }
        instance.references++;
        instance.held++;
        reserved--;
        return instance;
    }

    /** Adds a reference that nobody uses any more, in plain stores. Called under this monitor. */
    void addUnreturned(AllocatorReference reference) {
        reference.next = unreturned;
        if (unreturned != null) {
            unreturned.previous = reference;
        }
        unreturned = reference;
    }

    /**
     * Uncounts a reference that its provider has taken back, one that was {@linkplain #addUnreturned added}. Needs no
     * Java heap; called under this monitor.
     */
    void removeReturned(AllocatorReference reference, Allocator allocator, Instance instance) {
        final AllocatorReference next = reference.next;
        final AllocatorReference previous = reference.previous;
        if (next != null) {
            next.previous = previous;
        }
        if (previous != null) {
            previous.next = next;
        } else {
            unreturned = next;
        }
        if (--instance.references == 0) {
            byIdentity.remove(allocator);
            if (mostInstances > LEAST_PLACES && byIdentity.size() < mostInstances / 8) {
                shrink();
            }
        }
    }

    private void shrink() {
        try {
            byIdentity = new IdentityHashMap<>(byIdentity);
            mostInstances = byIdentity.size();
        } catch (OutOfMemoryError e) {
            // The map stays as large as it is.
        }
    }

    /** Returns for how many instances there has been room since the map was last made. */
    synchronized int mostInstances() {
        return mostInstances;
    }

    /**
     * Tries again to return the references that their providers did not take back.
     *
     * @param cleanup receives the failures; what failed stays here for another attempt
     */
    public void returnAll(Cleanup cleanup) {
        final List<AllocatorReference> waiting = new ArrayList<>();
        synchronized (this) {
            for (AllocatorReference at = unreturned; at != null; at = at.next) {
                waiting.add(at);
            }
        }
        for (int i = 0; i < waiting.size(); i++) {
            try {
                waiting.get(i).tryAgain();
            } catch (Throwable e) {
                cleanup.add(e);
            }
        }
    }

    /**
     * Returns how many references to an instance are held, or not returned yet.
     *
     * @param instance its entry
     * @return the count
     */
    public synchronized int references(Instance instance) {
        return instance.references;
    }

    /** One instance and the block counts of all its users. Guarded by the monitor of the instances. */
    public final class Instance {
        private @Nullable Lease[] users = new @Nullable Lease[2];
        private int userCount;

        /** How many of them wait until no block is live. */
        private int draining;

        /** The calls of {@link #drained} since the counts of the users were last added up, and a block was live. */
        private int unanswered;

        private long carried;
        private int references;

        /** The references that have users, or whose first return is in progress. */
        private int held;

        private Instance() {}

        private Lease user(int i) {
            return Objects.requireNonNull(users[i]);
        }

        /** Returns whether a reference to this instance has users or is returned for the first time. */
        boolean isHeld() {
            return held > 0;
        }

        /** Ends the first return of a reference. Called under this monitor. */
        void endHold() {
            held--;
        }

        void add(Lease lease) {
            synchronized (AllocatorInstances.this) {
                if (userCount == users.length) {
                    users = Arrays.copyOf(users, 2 * userCount);
                }
                users[userCount] = lease;
                lease.place = userCount;
                userCount++;
            }
        }

        /** Counts a user that begins to wait until no block is live. Called under this monitor. */
        void beginDraining() {
            draining++;
        }

        /**
         * Removes a user that {@linkplain #beginDraining waits} until no block is live. Requires that its own count is
         * zero, or that no user's blocks are live; of the last user only the latter counts: users may have freed one
         * another's blocks, so a single count can mislead. An allocation that is being rejected counts as a block for a
         * moment. If it is counted here, the user stays, and is removed later.
         *
         * @return whether the user was removed; nothing changes otherwise
         */
        boolean remove(Lease lease) {
            synchronized (AllocatorInstances.this) {
                long own = lease.count();
                if (own != 0 || userCount == 1) {
                    final long ended = endedByAll();
                    own = lease.count(); // between the two sums: exact if they agree
                    if (carried + begunByAll() != ended) {
                        return false;
                    }
                }
                lease.carried = own;
                carried += own;
                userCount--;
                draining--;
                final Lease last = user(userCount);
                users[lease.place] = last;
                last.place = lease.place;
                users[userCount] = null;
                if (users.length > LEAST_PLACES && userCount < users.length / 8) {
                    shrink();
                }
                return true;
            }
        }

        private void shrink() {
            try {
                users = Arrays.copyOf(users, users.length / 4);
            } catch (OutOfMemoryError e) {
                // The table stays as large as it is.
            }
        }

        /** Returns for how many users there is room. */
        int places() {
            synchronized (AllocatorInstances.this) {
                return users.length;
            }
        }

        /**
         * Corrects the count carried over from a user that was removed.
         *
         * @return whether it was wrong
         */
        boolean carryOver(Lease removed) {
            synchronized (AllocatorInstances.this) {
                final long change = removed.count() - removed.carried;
                carried += change;
                removed.carried += change;
                return change != 0;
            }
        }

        /**
         * Returns the users that wait until no block is live; none if a block is live. None of them will have a live
         * block again.
         *
         * <p>To add up the counts takes time proportional to the number of users. Where there are many, it is done for
         * one call in so many that this is a constant for each, and the others return none. Once one has found that no
         * block is live, the next calls look again until they find one. So where an eighth of the users wait, a call
         * for each of them releases all.
         */
        List<Lease> drained() {
            synchronized (AllocatorInstances.this) {
                if (draining == 0) {
                    return List.of();
                }
                if (userCount > LEAST_PLACES && unanswered < userCount / 8) {
                    unanswered++;
                    return List.of();
                }
                if (!isIdle()) {
                    unanswered = 0;
                    return List.of();
                }
                return allDraining();
            }
        }

        private List<Lease> allDraining() {
            try {
                final List<Lease> all = new ArrayList<>(draining);
                for (int i = 0; i < userCount; i++) {
                    if (user(i).isDraining()) {
                        all.add(user(i));
                    }
                }
                return all;
            } catch (OutOfMemoryError e) {
                return List.of(); // A later call finds them: the one that frees or closes now has had its effect.
            }
        }

        /**
         * Returns whether no block of any user is live, although single users may have freed one another's blocks.
         * Takes time proportional to the number of users.
         *
         * @return whether the counts of all users add up to zero
         */
        public boolean isIdle() {
            synchronized (AllocatorInstances.this) {
                final long ended = endedByAll(); // first: a block that is counted as ended has begun
                return carried + begunByAll() == ended;
            }
        }

        private long endedByAll() {
            long ended = 0;
            for (int i = 0; i < userCount; i++) {
                ended += user(i).ended();
            }
            return ended;
        }

        private long begunByAll() {
            long begun = 0;
            for (int i = 0; i < userCount; i++) {
                begun += user(i).begun();
            }
            return begun;
        }
    }
}
