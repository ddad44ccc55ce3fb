package allocator.resource;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lock for sections of a few instructions that change several counters as one. Taking it costs one compare-and-set
 * and giving it back a plain store, which is what a single atomic counter would cost.
 *
 * <p>Nothing that can block, call back or run long may be done while it is held. A thread that has to wait yields soon,
 * so that a holder without a processor gets one.
 */
final class SpinLock {
    private static final int SPINS_BEFORE_YIELD = 64;

    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(SpinLock.class, "held", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Reached through {@link #HELD} only. */
    @SuppressWarnings("UnusedVariable")
    private boolean held;

    void lock() {
        if (!HELD.compareAndSet(this, false, true)) {
            lockAfterWaiting();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // a holder that lost its processor needs one
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

    void unlock() {
        HELD.setRelease(this, false);
    }
}
