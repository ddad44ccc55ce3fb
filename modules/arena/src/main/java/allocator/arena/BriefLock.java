package allocator.arena;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A lock for sections of some ten nanoseconds, each of which would otherwise spend as much on its lock as on its work.
 *
 * <p>It is taken with one compare-and-set and given up with a plain store: nobody is woken. Who finds it taken looks
 * again, each time after twice as many pauses, and then after naps of {@value #NAP_NANOS} ns or what the system makes
 * of them. Rare looks let the thread that has the lock, and the guarded data in its cache, do many sections in a row;
 * that is several times as fast as taking turns, and so unfair that one in a thousand waits for a nap. Virtual threads
 * give up their carrier while they nap. Not reentrant, which assertions check; interrupts are left pending.
 */
final class BriefLock {
    private static final int LOOKS = 10;
    private static final int MAX_PAUSES = 256;
    private static final int NAP_NANOS = 20_000;
    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(BriefLock.class, "held", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** 1 while somebody has the lock, or else 0. */
    @SuppressWarnings("unused") // through the handle
    private int held;

    /** Who has the lock; known where assertions are on. */
    private @Nullable Thread owner;

    /**
     * Takes the lock, once it is free.
     *
     * @return whether it was not free at first
     */
    boolean lock() {
        assert !Thread.currentThread().equals(owner) : "the lock is not reentrant";
        final boolean waits = !tryLock();
        if (waits) {
            await();
        }
        assert isOwnedBy(Thread.currentThread());
        return waits;
    }

    private boolean isOwnedBy(@Nullable Thread thread) {
        owner = thread;
        return true;
    }

    private boolean tryLock() {
        return HELD.compareAndSet(this, 0, 1);
    }

    private boolean looksFree() {
        return (int) HELD.getOpaque(this) == 0;
    }

    private void await() {
        boolean wasInterrupted = false;
        while (!takeSoon()) {
            LockSupport.parkNanos(this, NAP_NANOS);
            wasInterrupted |= Thread.interrupted();
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes the lock if it is free at one of the looks. */
    private boolean takeSoon() {
        int pauses = 1;
        for (int look = 0; look < LOOKS; look++) {
            for (int pause = 0; pause < pauses; pause++) {
                Thread.onSpinWait();
            }
            if (looksFree() && tryLock()) {
                return true;
            }
            pauses = Math.min(2 * pauses, MAX_PAUSES);
        }
        return false;
    }

    /** Gives the lock up, which the calling thread has. */
    void unlock() {
        assert isOwnedBy(null);
        HELD.setRelease(this, 0);
    }
}
