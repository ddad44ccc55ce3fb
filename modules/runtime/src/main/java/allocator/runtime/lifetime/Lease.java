package allocator.runtime.lifetime;

import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * One owner's use of a provider's allocator: counts the owner's live blocks, and releases the allocator when the owner
 * is closed and the last block is freed.
 *
 * <p>A lease counts blocks itself, by inheritance, so that an allocation reads one object.
 */
public final class Lease extends LiveBlocks {
    /*
     * States: OPEN -> CLOSED (rejects allocations) -> DRAINING (released by the last free) -> RELEASED (the provider
     * has the allocator back).
     *
     * An allocation counts itself first and reads the state afterwards; closing sets the state first and reads the
     * count afterwards. So either the allocation sees the close and undoes its count, or the close sees the block. A
     * free uncounts after the provider has freed the block; in state DRAINING it then checks whether it was the last.
     *
     * Cost over the provider's own: one uncontended atomic addition and one volatile read for each operation; no Java
     * object.
     */
    private static final int OPEN = 0;
    private static final int CLOSED = 1;
    private static final int DRAINING = 2;
    private static final int RELEASED = 3;

    private volatile int state = OPEN;
    private final AllocatorReference reference;
    private final Runnable onReleased;

    /** Held for reading while the allocator is used outside the hot path, for writing while the state changes. */
    private final ReentrantReadWriteLock releasing = new ReentrantReadWriteLock();

    /**
     * Takes over a use of a reference.
     *
     * @param reference the reference, which counts the new lease as a user
     * @param onReleased run after the release
     */
    @SuppressWarnings("this-escape") // only counted here; the class is final
    public Lease(AllocatorReference reference, Runnable onReleased) {
        this.reference = reference;
        this.onReleased = onReleased;
        reference.instance().add(this);
    }

    /**
     * Counts a block to be allocated.
     *
     * @return whether it may be allocated; if not, the caller calls {@link #leave} and fails
     */
    public boolean enter() {
        begin();
        return state == OPEN;
    }

    /**
     * Uncounts a block that was freed or not allocated.
     *
     * @return whether the lease is draining, so that the caller calls {@link #settle}
     */
    public boolean leave() {
        end();
        return state == DRAINING;
    }

    /**
     * Returns whether allocations are accepted.
     *
     * @return whether the lease is open
     */
    public boolean isOpen() {
        return state == OPEN;
    }

    /**
     * Returns whether the provider has its allocator back.
     *
     * @return whether the reference was released
     */
    public boolean isReleased() {
        return state == RELEASED;
    }

    /**
     * Prevents the release until {@link #endHold}, unless it has happened. May block on a release in progress.
     *
     * @return whether the allocator is held; if not, {@link #endHold} must not be called
     */
    public boolean tryHold() {
        releasing.readLock().lock();
        if (state == RELEASED) {
            releasing.readLock().unlock();
            return false;
        }
        return true;
    }

    /** Ends {@link #tryHold}. */
    public void endHold() {
        releasing.readLock().unlock();
    }

    /** Rejects allocations from here on. */
    public void rejectAllocations() {
        advance(OPEN, CLOSED);
    }

    /** Undoes {@link #rejectAllocations}. */
    public void acceptAllocations() {
        advance(CLOSED, OPEN);
    }

    private void advance(int from, int to) {
        releasing.writeLock().lock();
        try {
            if (state == from) {
                state = to;
            }
        } finally {
            releasing.writeLock().unlock();
        }
    }

    /**
     * Releases the reference: now if no block is live, otherwise with the last free.
     *
     * @throws RuntimeException what the provider threw if the reference was released now; it counts as released
     */
    public void close() {
        releasing.writeLock().lock();
        try {
            if (state < DRAINING) {
                state = DRAINING;
            }
        } finally {
            releasing.writeLock().unlock();
        }
        settle();
        settleIfInstanceIdle();
    }

    /**
     * Releases the reference if the lease is draining and no block is live.
     *
     * @throws RuntimeException what the provider threw; the reference counts as released
     */
    public void settle() {
        if (isNone() && isReleasedByThisCall()) {
            release();
        }
    }

    /**
     * Releases the reference if the lease is draining and all its blocks were freed through other owners of the same
     * instance, although they count as live here.
     *
     * @throws RuntimeException what the provider threw; the reference counts as released
     */
    public void settleIfInstanceIdle() {
        if (state == DRAINING && reference.instance().isIdle() && isReleasedByThisCall()) {
            release();
        }
    }

    private boolean isReleasedByThisCall() {
        releasing.writeLock().lock();
        try {
            final boolean won = state == DRAINING && reference.instance().remove(this);
            if (won) {
                state = RELEASED;
            }
            return won;
        } finally {
            releasing.writeLock().unlock();
        }
    }

    private void release() {
        try {
            reference.release();
        } finally {
            onReleased.run();
        }
    }
}
