package allocator.resource.base;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lock for critical sections of a few instructions that update several counters together. Locking costs one
 * compare-and-set and unlocking one release store, about as much as a single atomic counter.
 *
 * <p>The holder must not block, call back or run long. A waiting thread spins briefly and then yields, so that a
 * preempted holder gets a processor. Not reentrant.
 *
 * <p>A call of {@link #unlock} in a {@code finally} block may fail where the stack has ended, and would leave the lock
 * locked. A section is therefore written so that every failure releases the lock with one store:
 *
 * <pre>{@code
 * lock.lock();
 * try {
 *     change();
 *     lock.unlock();
 * } catch (Throwable e) {
 *     lock.held = 0;
 *     throw e;
 * }
 * }</pre>
 */
public final class SpinLock {
    private static final int SPINS_BEFORE_YIELD = 64;

    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(SpinLock.class, "held", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
        final SpinLock first = new SpinLock(); // links the calls below, which takes more stack than later ones
        first.lock();
        first.unlock();
    }

    /** 1 while the lock is held, otherwise 0. The holder alone may set it, to 0, after a failure. */
    public volatile int held;

    /** Creates a lock that is not held. */
    public SpinLock() {}

    /** Locks; waits while another thread holds the lock. Takes more stack than {@link #unlock}. */
    public void lock() {
        if (!tryLock()) {
            lockAfterWaiting();
        }
    }

    private boolean tryLock() {
        return HELD.compareAndSet(this, 0, 1);
    }

    @SuppressWarnings("ThreadPriorityCheck") // a preempted holder needs a processor
    private void lockAfterWaiting() {
        int spins = 0;
        do {
            while ((int) HELD.getOpaque(this) != 0) {
                if (++spins < SPINS_BEFORE_YIELD) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield();
                }
            }
        } while (!tryLock());
    }

    /** Unlocks. Only the holder may call it. */
    public void unlock() {
        HELD.setRelease(this, 0);
    }
}
