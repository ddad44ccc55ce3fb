package allocator.provider.support;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A lock for critical sections of about ten nanoseconds, for which an ordinary lock would cost as much as the work.
 *
 * <p>It is acquired with one compare-and-set and released with a plain store that wakes no thread. A thread that finds
 * it held probes it again, each time after twice as many spins, and then after parking for {@value #PARK_NANOS} ns, or
 * as long as the system takes. Rare probes let the holder, which has the guarded data in its cache, run many sections
 * in a row. That is several times as fast as taking turns, and unfair: about one acquisition in a thousand parks. A
 * virtual thread releases its carrier while parked. Not reentrant, which assertions check. Interrupts stay pending.
 */
public final class BriefLock {
    private static final int PROBES = 10;
    private static final int MAX_SPINS = 256;
    private static final int PARK_NANOS = 20_000;
    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(BriefLock.class, "held", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final boolean IS_CHECKED = BriefLock.class.desiredAssertionStatus();

    /**
     * 1 while the lock is held, otherwise 0. Where a call may fail because the stack has ended, the holder releases the
     * lock by two stores: {@link #owner} to {@code null}, then this to 0.
     */
    public volatile int held;

    /** The thread that holds the lock; set only where assertions are on. */
    public @Nullable Thread owner;

    /** Creates a lock that is free. */
    public BriefLock() {}

    /**
     * Acquires the lock, waiting until it is free. If it throws, for want of stack, the thread does not hold the lock.
     *
     * @return whether it was held at first
     */
    public boolean lock() {
        final Thread self = IS_CHECKED ? Thread.currentThread() : null;
        assert self == null || !self.equals(owner) : "the lock is not reentrant";
        final boolean waits = !tryLock();
        if (waits) {
            await();
        }
        if (IS_CHECKED) {
            owner = self;
        }
        return waits;
    }

    private boolean tryLock() {
        return HELD.compareAndSet(this, 0, 1);
    }

    private boolean isFree() {
        return (int) HELD.getOpaque(this) == 0;
    }

    private void await() {
        boolean wasInterrupted = false;
        while (!tryProbing()) {
            LockSupport.parkNanos(this, PARK_NANOS);
            wasInterrupted |= Thread.interrupted();
        }
        if (wasInterrupted) {
            try {
                Thread.currentThread().interrupt();
            } catch (Throwable e) {
                held = 0;
                throw e;
            }
        }
    }

    /** Acquires the lock if it is free at one of the probes. */
    private boolean tryProbing() {
        int spins = 1;
        for (int probe = 0; probe < PROBES; probe++) {
            for (int spin = 0; spin < spins; spin++) {
                Thread.onSpinWait();
            }
            if (isFree() && tryLock()) {
                return true;
            }
            spins = Math.min(2 * spins, MAX_SPINS);
        }
        return false;
    }

    /** Releases the lock, which the calling thread holds. */
    public void unlock() {
        if (IS_CHECKED) {
            owner = null;
        }
        HELD.setRelease(this, 0);
    }
}
