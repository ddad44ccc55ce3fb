package allocator.resource.tracked;

import allocator.resource.base.SpinLock;
import allocator.resource.budget.Budget;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a {@link TrackedMemory}: live, pending and returned. They change together with its budget, so that at
 * every moment {@code live + pending} is what the memory has charged.
 */
final class TrackedBytes {
    private final Budget budget;
    private final SpinLock lock = new SpinLock();

    // Guarded by the lock
    private long live;
    private long pending;

    /** All bytes ever returned to the upstream. */
    private long returned;

    TrackedBytes(Budget budget) {
        this.budget = budget;
    }

    /** Charges a new block; returns the numbers of the budget that rejected it, {@code null} for none. */
    Budget.@Nullable Status charge(long byteSize) {
        final Budget.Status rejection;
        lock.lock();
        try {
            rejection = budget.charge(byteSize);
            if (rejection == null) {
                live += byteSize;
            }
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
        return rejection;
    }

    /** Returns the exception for a block that the budget rejected. */
    OutOfMemoryException outOfMemory(Budget.Status rejection, MemoryInfo memory, long byteSize) {
        final TrackedMemory.Status now = status();
        return budget.outOfMemory(
                rejection,
                memory,
                byteSize,
                now.live() + " bytes live, " + now.pending() + " pending, " + now.available() + " available");
    }

    /** Returns whether no release can make room for a block of this size. */
    boolean isLimitBelow(long byteSize) {
        return budget.isLimitBelow(byteSize);
    }

    /** Releases a block that was charged and not allocated. */
    void cancel(long byteSize) {
        lock.lock();
        try {
            budget.release(byteSize);
            live -= byteSize;
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
    }

    /** Moves a freed block from live to pending. */
    void freed(long byteSize) {
        lock.lock();
        live -= byteSize;
        pending += byteSize;
        lock.unlock();
    }

    /** Releases a pending block that was returned to the upstream. */
    void returned(long byteSize) {
        lock.lock();
        try {
            budget.release(byteSize);
            pending -= byteSize;
            returned += byteSize;
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
    }

    long returned() {
        lock.lock();
        final long bytes = returned;
        lock.unlock();
        return bytes;
    }

    TrackedMemory.Status status() {
        final TrackedMemory.Status status;
        lock.lock();
        try {
            status = new TrackedMemory.Status(live, pending, budget.status().available());
            lock.unlock();
        } catch (Throwable e) {
            lock.held = 0;
            throw e;
        }
        return status;
    }
}
