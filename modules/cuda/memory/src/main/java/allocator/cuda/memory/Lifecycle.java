package allocator.cuda.memory;

import java.util.function.BooleanSupplier;

/**
 * Whether a factory is open. Its calls run beside one another; the close runs alone, and calls wait until it is
 * decided.
 *
 * <p>Entering and leaving allocate nothing, so that no call is counted for good because the Java heap has ended, as the
 * hold counts of a read-write lock can be. Not reentrant. Interrupts stay pending.
 */
final class Lifecycle {
    /** Calls under way. Guarded by this, as are the others. */
    private int inside;

    private boolean isClosing;
    private boolean isClosed;

    /** Enters a call, unless closed. A caller that has entered must call {@link #exit}. */
    synchronized boolean tryEnter() {
        await(() -> !isClosing);
        if (isClosed) {
            return false;
        }
        inside++;
        return true;
    }

    synchronized void exit() {
        inside--;
        if (inside == 0) {
            notifyAll();
        }
    }

    /** Waits until no call is under way, and keeps others out until {@link #endClose}. */
    synchronized void beginClose() {
        await(() -> !isClosing);
        isClosing = true;
        boolean isAlone = false;
        try {
            await(() -> inside == 0);
            isAlone = true;
        } finally {
            if (!isAlone) {
                endClose(false);
            }
        }
    }

    /** Ends a close: for good, or without having closed. */
    synchronized void endClose(boolean hasClosed) {
        isClosing = false;
        isClosed |= hasClosed;
        notifyAll();
    }

    /** Waits under the lock, which is released meanwhile. */
    private void await(BooleanSupplier condition) {
        boolean wasInterrupted = false;
        while (!condition.getAsBoolean()) {
            try {
                wait();
            } catch (InterruptedException e) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
