package allocator.provider.support.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock for critical sections of about ten nanoseconds, for which an ordinary lock would cost as much as the work.
 *
 * <p>It is acquired with one compare-and-set and released with a plain store that wakes no thread. A thread that finds
 * it held probes it again, each time after twice as many spins, and then after parking for {@value #PARK_NANOS} ns, or
 * as long as the system takes. Rare probes let the holder, which has the guarded data in its cache, run many sections
 * in a row. That is several times as fast as taking turns, and unfair: about one acquisition in a thousand parks. A
 * virtual thread releases its carrier while parked. Not reentrant. Interrupts stay pending.
 *
 * <p><b>The end of the stack.</b> Used as {@code lock(); try {...} finally { unlock(); }}. Where a thread's stack ends
 * in the section, {@link #unlock} needs no more of it than {@link #lock} did, which makes the deeper calls. Only code
 * of which one half is compiled and the other is not can fail to unlock; the thread then takes the lock over at its
 * next {@link #lock}, as it still owns it. If {@link #lock} throws, the thread does not hold the lock.
 */
public final class BriefLock {
    private static final int PROBES = 10;
    private static final int MAX_SPINS = 256;
    private static final int PARK_NANOS = 20_000;
    private static final long FREE = 0;
    private static final VarHandle HOLDER;

    static {
        try {
            HOLDER = MethodHandles.lookup().findVarHandle(BriefLock.class, "holder", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The id of the thread that holds the lock, plus 1; {@link #FREE} for none. */
    private volatile long holder;

    /** Creates a lock that is free. */
    public BriefLock() {}

    /**
     * Acquires the lock, waiting until it is free.
     *
     * @return whether another thread held it at first
     */
    public boolean lock() {
        final long self = Thread.currentThread().threadId() + 1;
        if (tryLock(self) || holder == self) {
            return false;
        }
        await(self);
        return true;
    }

    private boolean tryLock(long self) {
        return HOLDER.compareAndSet(this, FREE, self);
    }

    private boolean isFree() {
        return (long) HOLDER.getOpaque(this) == FREE;
    }

    private void await(long self) {
        boolean wasInterrupted = false;
        while (!tryProbing(self)) {
            LockSupport.parkNanos(this, PARK_NANOS);
            wasInterrupted |= Thread.interrupted();
        }
        if (wasInterrupted) {
            try {
                Thread.currentThread().interrupt();
            } catch (Throwable e) {
                unlock();
                throw e;
            }
        }
    }

    /** Acquires the lock if it is free at one of the probes. */
    private boolean tryProbing(long self) {
        int spins = 1;
        for (int probe = 0; probe < PROBES; probe++) {
            for (int spin = 0; spin < spins; spin++) {
                Thread.onSpinWait();
            }
            if (isFree() && tryLock(self)) {
                return true;
            }
            spins = Math.min(2 * spins, MAX_SPINS);
        }
        return false;
    }

    /** Releases the lock, which the calling thread holds. */
    public void unlock() {
        HOLDER.setRelease(this, FREE);
    }
}
