package allocator.resource.tracked;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.BriefLock;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a {@link TrackedMemory}, charged to a child of its budget: live, pending and returned. The budget and
 * all above it know what is pending of them, also if several memories charge it.
 */
final class TrackedBytes {
    private final Budget budget;
    private final BriefLock lock = new BriefLock();

    /** All bytes ever returned to the upstream. Guarded by the lock. */
    private long returned;

    TrackedBytes(Budget budget) {
        this.budget = budget.child("tracked", Budget.UNLIMITED);
    }

    /** Charges a new block; returns the numbers of the budget that rejected it, {@code null} for none. */
    Budget.@Nullable Status charge(long byteSize) {
        return budget.charge(byteSize);
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
        budget.release(byteSize);
    }

    /** Moves a freed block from live to pending. */
    void freed(long byteSize) {
        budget.pend(byteSize);
    }

    /** Releases a pending block that was returned to the upstream. */
    void returned(long byteSize) {
        lock.lock();
        try {
            budget.releasePending(byteSize);
            returned += byteSize;
        } finally {
            lock.unlock();
        }
    }

    /** Returns a number that has grown if a charge which was rejected before may succeed now. */
    long returned() {
        lock.lock();
        try {
            return returned;
        } finally {
            lock.unlock();
        }
    }

    TrackedMemory.Status status() {
        final Budget.Status now = budget.status();
        return new TrackedMemory.Status(now.charge() - now.pending(), now.pending(), now.available());
    }
}
