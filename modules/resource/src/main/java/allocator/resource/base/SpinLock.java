package allocator.resource.base;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lock for critical sections of a few instructions that update several counters together. Locking costs one
 * compare-and-set and unlocking one release store, about as much as a single atomic counter.
 *
 * <p>The holder must not block, call back or run long. A waiting thread spins briefly and then yields, so that a
 * preempted holder gets a processor. Not reentrant.
 */
public final class SpinLock {
    private static final int SPINS_BEFORE_YIELD = 64;

    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(SpinLock.class, "held", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Accessed only through {@link #HELD}. */
    @SuppressWarnings("UnusedVariable")
    private boolean held;

    /** Creates a lock that is not held. */
    public SpinLock() {}

    /** Locks; waits while another thread holds the lock. */
    public void lock() {
        if (!HELD.compareAndSet(this, false, true)) {
            lockAfterWaiting();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // a preempted holder needs a processor
    private void lockAfterWaiting() {
        int spins = 0;
        do {
            while ((boolean) HELD.getOpaque(this)) {
                if (++spins < SPINS_BEFORE_YIELD) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield();
                }
            }
        } while (!HELD.compareAndSet(this, false, true));
    }

    /** Unlocks. Only the holder may call it. */
    public void unlock() {
        HELD.setRelease(this, false);
    }
}
