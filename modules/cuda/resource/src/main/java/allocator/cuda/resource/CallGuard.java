package allocator.cuda.resource;

import allocator.spi.AllocatorClosedException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts the calls that are using handles of the driver, so that none is destroyed beneath them: a driver does not
 * notice a destroyed handle, it crashes.
 *
 * <p>Entering and leaving are one atomic addition each. Closing waits for the calls that are inside; no call enters
 * after it. A caller touches its stack before it enters, so that it leaves whatever happens inside.
 */
final class CallGuard {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final long WAIT_NANOS = 20_000;

    /** How many calls are inside, plus {@link #CLOSED} once closed. */
    private final AtomicInteger calls = new AtomicInteger();

    /**
     * Enters a call, which must {@link #exit}.
     *
     * @param owner whose call it is, for the message
     * @throws AllocatorClosedException if this is closed; the call has not entered
     */
    void enter(Object owner) {
        if (calls.incrementAndGet() <= 0) {
            calls.decrementAndGet();
            throw new AllocatorClosedException(owner + " is closed");
        }
    }

    void exit() {
        calls.decrementAndGet();
    }

    /** Rejects every later call, and waits for those inside, also if it is closed already. */
    void close() {
        int before = calls.get();
        while (before >= 0 && !calls.compareAndSet(before, before + CLOSED)) {
            before = calls.get();
        }
        while (calls.get() != CLOSED) {
            LockSupport.parkNanos(WAIT_NANOS);
        }
    }
}
