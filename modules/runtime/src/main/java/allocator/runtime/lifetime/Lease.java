package allocator.runtime.lifetime;

import allocator.provider.support.UseGuard;
import allocator.provider.support.internal.Failures;
import allocator.runtime.discovery.Log;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * One owner's use of a provider's allocator: counts the owner's live blocks, and releases the allocator when the owner
 * is closed and the last block is freed.
 *
 * <p>There are two rising counters instead of one that falls: {@code live = begun - ended}. {@code ended} is read
 * first, so that a concurrent change can only make the result too large. A single striped counter could read as zero
 * while one thread allocates and another frees.
 */
public final class Lease {
    /*
     * States: OPEN -> CLOSED (rejects allocations) -> DRAINING (released by the last free) -> RELEASING (the reference
     * has one user less, the last of which returns it to the provider) -> RELEASED. OPEN -> PAUSED (allocations wait)
     * -> OPEN or a later state, while it is found out whether the lease may be closed.
     *
     * An allocation counts itself first and reads the state afterwards; closing sets the state first and reads the
     * count afterwards. So either the allocation sees the close and undoes its count, or the close sees the block. A
     * free uncounts after the provider has freed the block; in state DRAINING it then checks whether it was the last.
     *
     * The state changes under the monitor of the instances.
     *
     * Cost over the provider's own: one uncontended atomic addition and one volatile read for each operation; no Java
     * object.
     */
    private static final int OPEN = 0;
    private static final int PAUSED = 1;
    private static final int CLOSED = 2;
    private static final int DRAINING = 3;
    private static final int RELEASING = 4;
    private static final int RELEASED = 5;

    private static final long WAIT_NANOS = 20_000;
    private static final long MOST_WAIT_NANOS = 10_000_000_000L;

    /** How long a close waits for calls that use the allocator; one of them may wait for the caller of the close. */
    private static final long MOST_CALL_NANOS = 2_000_000_000L;

    private volatile int state = OPEN;
    private final LongAdder begun = new LongAdder();
    private final LongAdder ended = new LongAdder();
    private final AllocatorReference reference;
    private final Runnable onReleased;

    /** The calls outside the hot path that use the allocator now; it is not released during them. */
    private final UseGuard calls = new UseGuard();

    /** The blocks that are not counted in {@link #ended}, for lack of Java heap. Guarded by this lease. */
    private volatile long endedBeside;

    /** What the instance has carried over of this lease, once it is removed. Guarded by the instances. */
    long carried;

    /**
     * Takes over a use of a reference.
     *
     * @param reference the reference, which counts the new lease as a user; if this constructor throws, the caller is
     *     still that user
     * @param onReleased run after the release
     */
    @SuppressWarnings("this-escape") // only entered here; the class is final
    public Lease(AllocatorReference reference, Runnable onReleased) {
        this.reference = reference;
        this.onReleased = onReleased;
        reference.instance().add(this);
    }

    /**
     * Counts a block to be allocated. Waits while allocations are paused.
     *
     * @return whether it may be allocated; nothing is counted otherwise
     */
    public boolean enter() {
        begun.increment();
        return state == OPEN || enterLater();
    }

    private boolean enterLater() {
        leave();
        while (awaitDecision()) {
            begun.increment();
            if (state == OPEN) {
                return true;
            }
            leave();
        }
        return false;
    }

    /**
     * Uncounts a block that was freed, or not allocated. The last one of a lease that is closed releases the reference;
     * a failure of that is logged.
     */
    public void leave() {
        try {
            ended.increment();
        } catch (OutOfMemoryError e) {
            endBeside();
        }
        if (state >= DRAINING) {
            settleLogged();
        }
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without it
    private synchronized void endBeside() {
        endedBeside++;
    }

    private void settleLogged() {
        try {
            settle();
        } catch (Throwable e) {
            Log.failed("release of an allocator", reference.provider(), e);
        }
    }

    long begun() {
        return begun.sum();
    }

    long ended() {
        return ended.sum() + endedBeside;
    }

    /**
     * {@return the number of live blocks; exact while no thread allocates or frees, and below zero if blocks of other
     * users were freed here}
     */
    public long count() {
        final long done = ended();
        return begun() - done;
    }

    /**
     * Waits while allocations are paused.
     *
     * @return whether allocations are accepted
     */
    public boolean awaitDecision() {
        boolean isInterrupted = false;
        final boolean isOpen;
        synchronized (reference.instances()) {
            while (state == PAUSED) {
                try {
                    reference.instances().wait();
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

    /** {@return whether the lease was released: the owner has no more use of the allocator} */
    public boolean isReleased() {
        return state >= RELEASING;
    }

    /** {@return whether the lease was released, and the provider is not just taking its reference back} */
    public boolean isFinished() {
        return state == RELEASED;
    }

    boolean isDraining() {
        return state == DRAINING;
    }

    /**
     * Begins a call that uses the allocator, which is not released before {@link #endCall}. None begins once the lease
     * is closed and has no live block: the close may be about to release.
     *
     * @return whether it may be used; if not, {@link #endCall} must not be called
     */
    public boolean tryCall() {
        if (!calls.tryEnter()) {
            return false;
        }
        if (state >= DRAINING && count() == 0) {
            endCall();
            return false;
        }
        return true;
    }

    /** Ends a call. If the lease is closed and has no live block, it is released; a failure of that is logged. */
    public void endCall() {
        calls.exit();
        if (state >= DRAINING) {
            settleLogged();
        }
    }

    /** Rejects allocations from here on. Needs no Java heap. */
    public void rejectAllocations() {
        advance(CLOSED);
    }

    private void advance(int later) {
        synchronized (reference.instances()) {
            if (state < later) {
                state = later;
                reference.instances().notifyAll();
            }
        }
    }

    /**
     * Lets allocations wait until {@link #resumeAllocations}, {@link #rejectAllocations} or {@link #close}. One of them
     * is to follow soon, without a call to a provider in between: an allocation that waits may hold a provider's lock.
     */
    public void pauseAllocations() {
        synchronized (reference.instances()) {
            if (state == OPEN) {
                state = PAUSED;
            }
        }
    }

    /** Undoes {@link #pauseAllocations}; does nothing after another call. */
    public void resumeAllocations() {
        synchronized (reference.instances()) {
            if (state == PAUSED) {
                state = OPEN;
                reference.instances().notifyAll();
            }
        }
    }

    /**
     * Releases the reference: now if no block is live, otherwise with the last free. After the release, a further call
     * does nothing.
     *
     * @throws RuntimeException what the provider threw if the reference was returned now; see
     *     {@link AllocatorReference#release}
     */
    public void close() {
        advance(DRAINING);
        if (calls.inside() > 0 && count() == 0) {
            awaitCalls(); // the last one releases the reference if it goes on for longer
        }
        settle();
        if (isAboutToBeReleased()) {
            await(() -> !isAboutToBeReleased());
            settle();
        }
    }

    /** Returns whether another thread releases the reference: one whose call is being rejected, or has just ended. */
    private boolean isAboutToBeReleased() {
        return state == RELEASING || (state == DRAINING && count() == 0 && calls.inside() > 0);
    }

    /**
     * Waits, up to two seconds, for the calls that use the allocator now.
     *
     * @return whether none is under way
     */
    public boolean awaitCalls() {
        await(() -> calls.inside() == 0);
        return calls.inside() == 0;
    }

    /**
     * Waits after {@link #close}, where no block is live, until the reference is back: an allocation that is being
     * rejected counts as a block for a moment, after which its thread returns the reference, and a call may use the
     * allocator. Gives up after ten seconds, in case blocks were counted wrongly, and after two where it is such a
     * call; the lease is draining then.
     */
    public void awaitRelease() {
        await(() -> {
            settle();
            return isFinished();
        });
    }

    private void await(BooleanSupplier isDone) {
        final long start = System.nanoTime();
        boolean isInterrupted = false;
        while (!isDone.getAsBoolean()
                && System.nanoTime() - start < (calls.inside() > 0 ? MOST_CALL_NANOS : MOST_WAIT_NANOS)) {
            LockSupport.parkNanos(WAIT_NANOS);
            // Pending, it would end every park at once.
            isInterrupted |= Thread.interrupted();
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Releases the reference if the lease is closed and no block is live: here or, since users may free one another's
     * blocks, in the whole instance, which releases the others that wait for that. Does nothing before {@link #close}.
     * With many users of the instance, not every call {@linkplain AllocatorInstances.Instance#drained finds out}.
     *
     * @throws RuntimeException as {@link #close}; all are attempted
     */
    public void settle() {
        if (state < DRAINING) {
            return;
        }
        try {
            if (state == DRAINING && count() == 0) {
                release();
            }
        } finally {
            if (isReleased() ? reference.instance().carryOver(this) : state == DRAINING) {
                releaseDrained();
            }
        }
    }

    private void releaseDrained() {
        final Failures failures = new Failures();
        reference.instance().drained().forEach(lease -> failures.run(lease::release));
        failures.throwIfAny();
    }

    /** Releases the reference, unless a call uses it: the end of the last one settles. Needs no Java heap. */
    private void release() {
        final boolean isLastUser;
        synchronized (reference.instances()) {
            if (state != DRAINING || !reference.instance().hasNone(this) || !calls.closeIfUnused()) {
                return;
            }
            reference.instance().remove(this);
            isLastUser = reference.removeUser();
            state = RELEASING;
        }
        try {
            if (isLastUser) {
                reference.giveBack(false);
            }
        } finally {
            state = RELEASED;
            onReleased.run();
        }
    }
}
