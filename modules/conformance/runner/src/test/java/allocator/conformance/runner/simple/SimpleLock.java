package allocator.conformance.runner.simple;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** The lock of an allocator, with the faults that a lock may have. */
final class SimpleLock {
    /** More than four time limits of 2 s, which a call has that works on a busy machine. */
    private static final long MOST_SPINNING_NANOS = 12_000_000_000L;

    private final Fault fault;
    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock other = new ReentrantLock();
    private final AtomicBoolean spin = new AtomicBoolean();

    SimpleLock(Fault fault) {
        this.fault = fault;
    }

    /** Acquires the lock, unless the fault is to have none. */
    void acquire() {
        if (fault != Fault.NOT_THREAD_SAFE) {
            lock.lock();
        }
    }

    void release() {
        if (fault != Fault.NOT_THREAD_SAFE) {
            lock.unlock();
        }
    }

    /** Acquires the lock whatever the fault is. */
    void acquireAlways() {
        lock.lock();
    }

    void releaseAlways() {
        lock.unlock();
    }

    /** Acquires the lock for an allocation. */
    void acquireForAlloc() {
        if (fault == Fault.VIRTUAL_THREADS_STARVE && Thread.currentThread().isVirtual()) {
            spinThenSleep();
        }
        acquire();
        if (fault == Fault.DEADLOCK_OF_ALLOC_AND_STATS) {
            LockSupport.parkNanos(1000);
            other.lock();
            try {
                Thread.onSpinWait();
            } finally {
                other.unlock();
            }
        }
    }

    /** Acquires the lock for statistics; with the deadlock fault, two locks in the opposite order. */
    void acquireForStats() {
        if (fault == Fault.DEADLOCK_OF_ALLOC_AND_STATS) {
            other.lock();
        }
        acquire();
    }

    void releaseForStats() {
        release();
        if (fault == Fault.DEADLOCK_OF_ALLOC_AND_STATS) {
            other.unlock();
        }
    }

    /**
     * Spins for a lock whose holder sleeps: all carriers of virtual threads spin, and the holder does not wake. Gives
     * up after the short time limits that hanging faults have, so that later tests of the process have carriers.
     */
    private void spinThenSleep() {
        final long start = System.nanoTime();
        while (!spin.compareAndSet(false, true)) {
            if (Thread.currentThread().isInterrupted() || System.nanoTime() - start > MOST_SPINNING_NANOS) {
                throw new IllegalStateException("interrupted");
            }
            Thread.onSpinWait();
        }
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            spin.set(false);
        }
    }
}
