package allocator.runtime.lifetime;

import allocator.provider.support.StackReserve;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One owner's use of a provider's allocator: counts the owner's live blocks, and releases the allocator when the owner
 * is closed and the last block is freed.
 *
 * <p>A lease counts blocks itself, by inheritance, so that an allocation reads one object.
 */
public final class Lease extends LiveBlocks {
    /*
     * States: OPEN -> CLOSED (rejects allocations) -> DRAINING (released by the last free) -> RELEASED (the reference
     * has one user less, the last of which returns it to the provider). OPEN -> PAUSED (allocations wait) -> OPEN or a
     * later state, while it is found out whether the lease may be closed.
     *
     * An allocation counts itself first and reads the state afterwards; closing sets the state first and reads the
     * count afterwards. So either the allocation sees the close and undoes its count, or the close sees the block. A
     * free uncounts after the provider has freed the block; in state DRAINING it then checks whether it was the last.
     *
     * The state and the number of holds change under the monitor of the lease. The last change is one step together
     * with those of the instance and of the reference: a stack that ends, ends before it. Whatever is missed of the
     * rest is done by the next settle.
     *
     * Cost over the provider's own: one uncontended atomic addition and one volatile read for each operation; no Java
     * object.
     */
    private static final int OPEN = 0;
    private static final int PAUSED = 1;
    private static final int CLOSED = 2;
    private static final int DRAINING = 3;
    private static final int RELEASED = 4;

    private static final long WAIT_NANOS = 20_000;
    private static final long MOST_WAIT_NANOS = 10_000_000_000L;

    /** How long a close waits for calls that hold the allocator; one of them may wait for the caller of the close. */
    private static final long MOST_HELD_NANOS = 2_000_000_000L;

    private volatile int state = OPEN;
    private final AllocatorReference reference;
    private final Runnable onReleased;

    /** The calls outside the hot path that use the allocator now; it is not released during them. */
    private int holds;

    /** The threads that make these calls. */
    private @Nullable Thread[] holders = new @Nullable Thread[1];

    /** Where the instance lists this lease. Guarded by the monitor of the instances. */
    int place;

    /**
     * Takes over a use of a reference.
     *
     * @param reference the reference, which counts the new lease as a user; if this constructor throws, the caller is
     *     still that user
     * @param onReleased run after the release; best effort, it may be missed where the stack or the heap ends
     */
    @SuppressWarnings("this-escape") // only counted here; the class is final
    public Lease(AllocatorReference reference, Runnable onReleased) {
        this.reference = reference;
        this.onReleased = onReleased;
        reference.instance().add(this);
    }

    /**
     * Counts a block to be allocated. If this method throws, nothing is counted.
     *
     * @return whether it may be allocated; if not, the caller raises {@link #uncounted}, calls {@link #settle}, and
     *     tries again or fails as {@link #awaitDecision} says
     */
    public boolean enter() {
        begin();
        return state == OPEN;
    }

    /**
     * Uncounts a block that was freed. If this method throws, it is still counted.
     *
     * @return whether the lease is draining or released, so that the caller calls {@link #settle}
     */
    public boolean leave() {
        end();
        return state >= DRAINING;
    }

    /**
     * Waits while allocations are paused.
     *
     * @return whether allocations are accepted
     */
    public boolean awaitDecision() {
        StackReserve.touch();
        boolean isInterrupted = false;
        final boolean isOpen;
        synchronized (this) {
            while (state == PAUSED) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    isInterrupted = true;
                }
            }
            isOpen = state == OPEN; // read here: the next pause is not a rejection
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        return isOpen;
    }

    /**
     * Returns whether the owner has no more use of the allocator.
     *
     * @return whether the lease was released
     */
    public boolean isReleased() {
        return state == RELEASED;
    }

    /**
     * Returns whether the lease was released, and the provider is not just taking its reference back.
     *
     * @return whether nothing of this lease is in progress or to come
     */
    public boolean isFinished() {
        return state == RELEASED && !reference.isReturning();
    }

    /**
     * Prevents the release until {@link #endHold}, unless it has happened.
     *
     * @return whether the allocator is held; if not, {@link #endHold} must not be called
     * @throws StackOverflowError if the thread has so little stack left that {@link #endHold} might fail
     */
    public boolean tryHold() {
        StackReserve.touch();
        synchronized (this) {
            if (state == RELEASED) {
                return false;
            }
            if (holds == holders.length) {
                holders = Arrays.copyOf(holders, 2 * holds);
            }
            holders[holds] = Thread.currentThread();
            holds++;
            return true;
        }
    }

    /** Returns whether calls of other threads hold the allocator, and none of this one, which waited for itself. */
    private synchronized boolean isHeldByOthers() {
        for (int i = 0; i < holds; i++) {
            if (Thread.currentThread().equals(holders[i])) {
                return false;
            }
        }
        return holds > 0;
    }

    /**
     * Ends {@link #tryHold}.
     *
     * @return whether the lease is draining or released, so that the caller calls {@link #settle}
     */
    public boolean endHold() {
        synchronized (this) {
            holds--;
            int mine = holds;
            while (mine > 0 && !Thread.currentThread().equals(holders[mine])) {
                mine--;
            }
            holders[mine] = holders[holds];
            holders[holds] = null;
        }
        return state >= DRAINING;
    }

    /** Rejects allocations from here on. */
    public void rejectAllocations() {
        synchronized (this) {
            if (state < CLOSED) {
                state = CLOSED;
                notifyAll();
            }
        }
    }

    /**
     * Lets allocations wait until {@link #resumeAllocations}, {@link #rejectAllocations} or {@link #close}. One of them
     * is to follow soon, without a call to a provider in between: an allocation that waits may hold a provider's lock.
     *
     * @throws StackOverflowError if the thread has so little stack left that the following call might fail
     */
    public void pauseAllocations() {
        StackReserve.touch();
        synchronized (this) {
            if (state == OPEN) {
                state = PAUSED;
            }
        }
    }

    /** Undoes {@link #pauseAllocations}; does nothing after another call. */
    public void resumeAllocations() {
        synchronized (this) {
            if (state == PAUSED) {
                state = OPEN;
                notifyAll();
            }
        }
    }

    /**
     * Releases the reference: now if no block is live, otherwise with the last free. A further call tries again what
     * failed before the release; after it, it does nothing.
     *
     * @throws RuntimeException what the provider threw if the reference was returned now; see
     *     {@link AllocatorReference#release}
     */
    public void close() {
        StackReserve.touch();
        synchronized (this) {
            if (state < DRAINING) {
                synchronized (reference.instances()) {
                    reference.instance().beginDraining();
                    state = DRAINING;
                }
                notifyAll();
            }
        }
        if (isNone()) {
            awaitCalls(); // the last one releases the reference if it goes on for longer
        }
        settle();
        settleIfInstanceIdle();
    }

    /**
     * Waits for the calls outside the hot path that use the allocator now. Not for long, and not for one of this
     * thread: such a call may wait for a lock of the caller.
     *
     * @return whether none is under way
     */
    public boolean awaitCalls() {
        final long start = System.nanoTime();
        boolean isInterrupted = false;
        while (isHeldByOthers() && System.nanoTime() - start < MOST_HELD_NANOS) {
            LockSupport.parkNanos(WAIT_NANOS);
            // Pending, it would end every park at once.
            isInterrupted |= Thread.interrupted();
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        return !isHeld();
    }

    /**
     * Releases the reference if the lease is draining and no block is live, here or, since users may free one another's
     * blocks, in the whole instance. After the release, corrects what the instance has carried over from this lease,
     * since a thread that was between two steps then may have changed the count, and releases the other leases that
     * waited for it.
     *
     * @throws RuntimeException as {@link #close}
     */
    public void settle() {
        if (state == RELEASED) {
            reference.instance().carryOver(this);
            settleIfInstanceIdle();
        } else if (state == DRAINING) {
            if (isNone()) {
                release();
            } else {
                settleIfInstanceIdle();
            }
        }
    }

    /**
     * Waits after {@link #close}, where no block is live, until the reference is back: an allocation that is being
     * rejected counts as a block for a moment, after which its thread returns the reference, and a call may use the
     * allocator. Gives up after ten seconds, in case blocks were counted wrongly, and after two where it is such a
     * call; the lease is draining then.
     */
    public void awaitRelease() {
        StackReserve.touch();
        final long start = System.nanoTime();
        boolean isInterrupted = false;
        while (!isFinished() && isWorthWaiting(System.nanoTime() - start)) {
            LockSupport.parkNanos(WAIT_NANOS);
            // Pending, it would end every park at once.
            isInterrupted |= Thread.interrupted();
            settle();
            settleIfInstanceIdle();
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean isWorthWaiting(long waited) {
        return isHeld() ? isHeldByOthers() && waited < MOST_HELD_NANOS : waited < MOST_WAIT_NANOS;
    }

    private synchronized boolean isHeld() {
        return holds > 0;
    }

    boolean isDraining() {
        return state == DRAINING;
    }

    /**
     * Releases the references of this lease and of the others of the same instance that are draining, if all their
     * blocks were freed through other owners, although they count as live there. Does nothing before {@link #close}.
     * With many users of the instance, not every call {@linkplain AllocatorInstances.Instance#drained finds out}.
     *
     * @throws RuntimeException as {@link #close}; all are attempted
     */
    public void settleIfInstanceIdle() {
        if (state >= DRAINING) {
            final List<Lease> drained = reference.instance().drained();
            if (!drained.isEmpty()) {
                final Cleanup cleanup = new Cleanup();
                drained.forEach(lease -> cleanup.attempt(lease::release));
                cleanup.throwIfAny();
            }
        }
    }

    /** Releases the reference, unless a call outside the hot path uses it: the end of the last one settles. */
    private void release() {
        StackReserve.touch();
        boolean isReleasedHere = false;
        boolean isLastUser = false;
        synchronized (this) {
            if (holds > 0) {
                return;
            }
            synchronized (reference.instances()) {
                if (state == DRAINING && reference.instance().remove(this)) {
                    isLastUser = reference.removeUser();
                    state = RELEASED;
                    isReleasedHere = true;
                }
            }
        }
        try {
            if (isLastUser) {
                reference.giveBack();
            }
        } finally {
            try {
                if (isReleasedHere) {
                    onReleased.run();
                }
            } finally {
                // A free that came between the count and the new state has found a lease that is draining.
                if (isReleasedHere && reference.instance().carryOver(this)) {
                    settleIfInstanceIdle();
                }
            }
        }
    }
}
