package allocator.resource.tracked;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.BriefLock;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a {@link TrackedMemory}: live, pending and returned. They change together with its budget, so that at
 * every moment {@code live + pending} is what the memory has charged.
 */
final class TrackedBytes {
    private final Budget budget;
    private final BriefLock lock = new BriefLock();

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
        lock.lock();
        try {
            final Budget.Status rejection = budget.charge(byteSize);
            if (rejection == null) {
                live += byteSize;
            }
            return rejection;
        } finally {
            lock.unlock();
        }
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
        } finally {
            lock.unlock();
        }
    }

    /** Moves a freed block from live to pending. */
    void freed(long byteSize) {
        lock.lock();
        try {
            live -= byteSize;
            pending += byteSize;
        } finally {
            lock.unlock();
        }
    }

    /** Releases a pending block that was returned to the upstream. */
    void returned(long byteSize) {
        lock.lock();
        try {
            budget.release(byteSize);
            pending -= byteSize;
            returned += byteSize;
        } finally {
            lock.unlock();
        }
    }

    long returned() {
        lock.lock();
        try {
            return returned;
        } finally {
            lock.unlock();
        }
    }

    TrackedMemory.Status status() {
        lock.lock();
        try {
            return new TrackedMemory.Status(live, pending, budget.status().available());
        } finally {
            lock.unlock();
        }
    }
}
