package allocator.arena;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A lock for sections of some ten nanoseconds, each of which would otherwise spend as much on its lock as on its work.
 *
 * <p>The release is a plain store followed by a plain look at whether somebody waits: no fence, no atomic instruction.
 * The look may come too early for a thread that begins to wait at the same moment; such a thread is not woken, and
 * looks for itself after {@value #DOZE_NANOS} ns. Who waits spins a little first, as the section is nearly over, and parks
 * then; virtual threads give up their carrier. Not reentrant, which assertions check; not fair; interrupts are left pending.
 */
final class BriefLock {
    /** The longest sleep of a thread that nobody wakes. */
    private static final int DOZE_NANOS = 100_000;

    private static final int SPINS = 100;
    private static final VarHandle HOLDERS;

    static {
        try {
            HOLDERS = MethodHandles.lookup().findVarHandle(BriefLock.class, "holders", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // through the handle
    private int holders;

    /** Who holds the lock; known where assertions are on. */
    private @Nullable Thread holder;

    private final ConcurrentLinkedQueue<Thread> waiting = new ConcurrentLinkedQueue<>();

    /** Takes the lock, once it is free. */
    void lock() {
        assert !Thread.currentThread().equals(holder) : "the lock is not reentrant";
        if (!tryLock()) {
            await();
        }
        assert isHeldBy(Thread.currentThread());
    }

    private boolean isHeldBy(@Nullable Thread thread) {
        holder = thread;
        return true;
    }

    private boolean tryLock() {
        return HOLDERS.compareAndSet(this, 0, 1);
    }

    private boolean looksFree() {
        return (int) HOLDERS.getOpaque(this) == 0;
    }

    private void await() {
        for (int spin = 0; spin < SPINS; spin++) {
            if (looksFree() && tryLock()) {
                return;
            }
            Thread.onSpinWait();
        }
        final Thread self = Thread.currentThread();
        boolean wasInterrupted = false;
        waiting.add(self);
        while (!tryLock()) {
            LockSupport.parkNanos(this, DOZE_NANOS);
            wasInterrupted |= Thread.interrupted();
        }
        waiting.remove(self);
        if (wasInterrupted) {
            self.interrupt();
        }
    }

    /** Gives the lock up, which the calling thread holds. */
    void unlock() {
        assert isHeldBy(null);
        HOLDERS.setRelease(this, 0);
        if (!waiting.isEmpty()) {
            LockSupport.unpark(waiting.peek());
        }
    }
}
