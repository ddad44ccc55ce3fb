package allocator.provider.support;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Keeps allocations and second returns apart. A device that throws in a free may have taken the memory nevertheless,
 * and may hand it out to an allocation that has not entered it in the books yet: a second return would free the block
 * of that allocation.
 *
 * <p>Allocations pass side by side, at the cost of one atomic addition each at their begin and end. A second return is
 * alone: it waits for the allocations under way, and later ones wait for it. A caller touches its stack
 * ({@link StackReserve}) before it enters, so that it leaves whatever happens inside. A thread enters once at a time: a
 * second return within an allocation would wait for itself; anything within a second return fails.
 *
 * <p>Safe for use by several threads. An interrupt does not end a wait and stays pending.
 */
public final class ReturnGate {
    private static final int RETURNING = Integer.MIN_VALUE;
    private static final long WAIT_NANOS = 20_000;

    /** The waits after which {@link #tryEnterReturn} gives up: ten milliseconds, or somewhat more. */
    private static final long FEW_WAITS = 500;

    /** The allocations inside, plus {@link #RETURNING} during a second return. */
    private final AtomicInteger inside = new AtomicInteger();

    /** The thread of the second return, if there is one. */
    private volatile @Nullable Thread returning;

    private final Runnable pause;

    /** Creates a gate that nothing is inside of. */
    public ReturnGate() {
        this(() -> LockSupport.parkNanos(WAIT_NANOS));
    }

    /** Creates a gate that waits by a call, again and again. */
    ReturnGate(Runnable pause) {
        this.pause = pause;
    }

    /**
     * Begins an allocation, before the device is called. Waits during a second return.
     *
     * @throws IllegalStateException if the calling thread is in that return; nothing has begun
     */
    public void enterAllocation() {
        if (inside.incrementAndGet() < 0) {
            inside.decrementAndGet();
            enterLater();
        }
    }

    private void enterLater() {
        boolean isInterrupted = false;
        try {
            int before = inside.get();
            while (before < 0 || !inside.compareAndSet(before, before + 1)) {
                if (before < 0) {
                    isInterrupted |= waitBriefly();
                }
                before = inside.get();
            }
        } finally {
            restore(isInterrupted);
        }
    }

    /** Ends an allocation, after its block is in the books. */
    public void exitAllocation() {
        inside.decrementAndGet();
    }

    /**
     * Begins a second return, before it is looked up what is unreturned. Waits for allocations and other returns.
     *
     * @throws IllegalStateException if the calling thread is in another return; nothing has begun
     */
    public void enterReturn() {
        enterReturn(Long.MAX_VALUE);
    }

    /**
     * Begins a second return as {@link #enterReturn} does, but gives up after some ten milliseconds: an allocation may
     * be waiting for the calling thread, or have called it.
     *
     * @return false if it has given up; nothing has begun
     * @throws IllegalStateException if the calling thread is in another return; nothing has begun
     */
    public boolean tryEnterReturn() {
        return enterReturn(FEW_WAITS);
    }

    private boolean enterReturn(long mostWaits) {
        long waits = 0;
        boolean isInterrupted = false;
        boolean hasClaimed = false;
        boolean isAlone = false;
        try {
            int before = inside.get();
            while (before < 0 || !inside.compareAndSet(before, before + RETURNING)) {
                if (before < 0) {
                    if (waits++ == mostWaits) {
                        return false;
                    }
                    isInterrupted |= waitBriefly();
                }
                before = inside.get();
            }
            hasClaimed = true;
            while (inside.get() != RETURNING) {
                if (waits++ == mostWaits) {
                    return false;
                }
                isInterrupted |= waitBriefly();
            }
            isAlone = true;
        } finally {
            if (hasClaimed && !isAlone) { // a virtual thread needs Java heap to wait
                inside.addAndGet(RETURNING);
            }
            restore(isInterrupted);
        }
        returning = Thread.currentThread();
        return true;
    }

    /** Ends a second return, after its outcome is in the books. */
    public void exitReturn() {
        returning = null;
        inside.addAndGet(RETURNING); // the sign changes back
    }

    /** Returns whether the thread was interrupted; pending, an interrupt would end every wait at once. */
    private boolean waitBriefly() {
        if (Thread.currentThread().equals(returning)) {
            throw new IllegalStateException("the device is called to take memory back a second time, and calls the"
                    + " allocator in turn: it would wait for itself");
        }
        pause.run();
        return Thread.interrupted();
    }

    private static void restore(boolean isInterrupted) {
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
