package allocator.provider.support;

import allocator.spi.AllocatorClosedException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts the calls that are using a native handle, so that it is not destroyed beneath them: native code does not
 * notice a destroyed handle, it crashes.
 *
 * <p>Entering and leaving are one atomic addition each. Closing waits for the calls that are inside; no call enters
 * after it.
 *
 * <pre>{@code
 * guard.enter(this);
 * try {
 *     // use the handle
 * } finally {
 *     guard.exit();
 * }
 * }</pre>
 *
 * <p>Safe for use by several threads. A thread may be inside more than once, but must not close while it is inside: it
 * would wait for itself.
 */
public final class UseGuard {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final long WAIT_NANOS = 20_000;

    /** How many are inside, plus {@link #CLOSED} once closed. */
    private final AtomicInteger uses = new AtomicInteger();

    /** Creates an open guard with no call inside. */
    public UseGuard() {}

    /**
     * Enters, unless closed. A caller that has entered must call {@link #exit}. Never waits.
     *
     * @return whether the caller is inside
     */
    public boolean tryEnter() {
        if (uses.incrementAndGet() > 0) {
            return true;
        }
        uses.decrementAndGet();
        return false;
    }

    /**
     * Enters. A caller that has entered must call {@link #exit}. Never waits.
     *
     * @param owner what is used, for the message
     * @throws AllocatorClosedException if this is closed; the caller is not inside
     */
    public void enter(Object owner) {
        if (!tryEnter()) {
            throw new AllocatorClosedException(owner + " is closed");
        }
    }

    /** Leaves; once for each time that the caller entered. */
    public void exit() {
        uses.decrementAndGet();
    }

    /**
     * {@return how many calls are inside, the caller's included} Each counts from before its first step, so that no
     * call is ever missing; one that is being rejected may count too.
     */
    public int inside() {
        return uses.get() & Integer.MAX_VALUE;
    }

    /** {@return whether {@link #close} has begun, so that no call enters any more} */
    public boolean isClosed() {
        return uses.get() < 0;
    }

    /**
     * Closes for good, unless a call is inside. Never waits.
     *
     * @return whether this is closed
     */
    public boolean closeIfUnused() {
        return uses.compareAndSet(0, CLOSED) || isClosed();
    }

    /**
     * Closes for good: no call enters any more. Waits for those inside, also if it was closed before. An interrupt does
     * not end the wait and stays pending.
     *
     * @return whether this call closed
     */
    public boolean close() {
        int before = uses.get();
        while (before >= 0 && !uses.compareAndSet(before, before + CLOSED)) {
            before = uses.get();
        }
        boolean isInterrupted = false;
        while (uses.get() != CLOSED) {
            LockSupport.parkNanos(WAIT_NANOS);
            // Pending, it would end every park at once.
            isInterrupted |= Thread.interrupted();
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        return before >= 0;
    }
}
