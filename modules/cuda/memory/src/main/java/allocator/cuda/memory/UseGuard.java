package allocator.cuda.memory;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts the calls that are using a native handle, so that it is not destroyed beneath them: a driver does not notice a
 * destroyed handle, it crashes.
 *
 * <p>Entering and leaving are one atomic addition each. Closing waits for the calls that are inside; no call enters
 * after it. A caller touches its stack before it enters, so that it leaves whatever happens inside.
 */
final class UseGuard {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final long WAIT_NANOS = 20_000;

    /** How many are inside, plus {@link #CLOSED} once closed. */
    private final AtomicInteger uses = new AtomicInteger();

    /** Enters, unless closed. A caller that has entered must call {@link #exit}. */
    boolean tryEnter() {
        if (uses.incrementAndGet() > 0) {
            return true;
        }
        uses.decrementAndGet();
        return false;
    }

    void exit() {
        uses.decrementAndGet();
    }

    /** Returns how many calls are inside, the caller's included: each counts from before its first step. */
    int inside() {
        return uses.get() & Integer.MAX_VALUE;
    }

    boolean isClosed() {
        return uses.get() < 0;
    }

    /** Closes: no call enters any more. Waits for those inside, also if closed. Returns whether this call closed. */
    boolean close() {
        int before = uses.get();
        while (before >= 0 && !uses.compareAndSet(before, before + CLOSED)) {
            before = uses.get();
        }
        while (uses.get() != CLOSED) {
            LockSupport.parkNanos(WAIT_NANOS);
        }
        return before >= 0;
    }
}
