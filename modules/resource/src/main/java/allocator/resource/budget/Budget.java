package allocator.resource.budget;

import allocator.resource.base.SpinLock;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * A hard limit on bytes, with child budgets for tenants, tasks and requests.
 *
 * <p>Terms. The <em>charge</em> of a budget is the bytes charged to it and not yet released. A child may have a
 * <em>reservation</em>: bytes that its parent sets aside for it from the start. The <em>share</em> of a child,
 * {@code max(charge, reservation)}, is what it costs its parent.
 *
 * <p>Invariants, for every budget at every moment: {@code charge <= limit}, unless {@link #setLimit} lowered the limit
 * below the charge; {@code charge == own charges + sum of the children's shares}.
 *
 * <p>All budgets of a tree share one spin lock. A request is checked and charged at every level in one step, so a
 * request that fits is never rejected because of another that is rejected in the end. A charge costs about one
 * compare-and-set, at any depth.
 */
public final class Budget implements AutoCloseable {
    /** The limit of a budget without a limit. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final ConcurrentMap<MemoryLocation, Budget> OF_DEVICES = new ConcurrentHashMap<>();

    private final String name;
    private final @Nullable Budget parent;
    private final SpinLock lock;

    // Guarded by the lock
    private long limit;
    private long reservation;
    private long charge;
    private long peakCharge;
    private long rejections;
    private boolean isClosed;

    /**
     * The numbers of a budget at one moment.
     *
     * @param name the name of the budget
     * @param limit the most bytes that may be charged
     * @param charge bytes charged, the children's shares included
     * @param reservation bytes that the parent sets aside for this budget, {@code 0} if none
     * @param available bytes that a request could have been granted, at this level and all above
     * @param peakCharge the maximum of {@code charge}
     * @param rejections number of requests that this budget rejected, its own and those of its children
     */
    public record Status(
            String name, long limit, long charge, long reservation, long available, long peakCharge, long rejections) {
        /**
         * Returns the exception for a request that the budget rejected with these numbers.
         *
         * @param memory the memory that was requested
         * @param byteSize the size of the request in bytes
         * @param report what was tried to make room, or other details; may be empty
         * @return the exception
         */
        public OutOfMemoryException outOfMemory(MemoryInfo memory, long byteSize, String report) {
            final Shortage shortage = new Shortage(
                    memory, byteSize, byteSize, limit, charge, charge, available, OutOfMemoryException.UNKNOWN);
            return new OutOfMemoryException(
                    "The budget " + name + " cannot grant " + byteSize + " bytes", shortage, report, null);
        }
    }

    private Budget(String name, @Nullable Budget parent, SpinLock lock, long limit, long reservation) {
        this.name = name;
        this.parent = parent;
        this.lock = lock;
        this.limit = limit;
        this.reservation = reservation;
    }

    /**
     * Creates a budget without a parent.
     *
     * @param name its name in messages
     * @param limit the most bytes that may be charged, from 0 to {@link #UNLIMITED}
     * @return the budget
     * @throws IllegalArgumentException if the limit is negative
     */
    public static Budget of(String name, long limit) {
        requireNotNegative(name, "limit", limit);
        return new Budget(name, null, new SpinLock(), limit, 0);
    }

    /**
     * Returns the budget of a device's memory for the whole process. It is unlimited until {@link #setLimit} is called.
     *
     * @param location the memory
     * @return its budget, the same one for every caller
     */
    public static Budget ofDevice(MemoryLocation location) {
        return OF_DEVICES.computeIfAbsent(location, key -> of(key.toString(), UNLIMITED));
    }

    /**
     * Creates a child. What is charged to the child is charged to this budget too.
     *
     * @param childName its name in messages
     * @param childLimit the most bytes that may be charged to it
     * @return the child
     * @throws IllegalArgumentException if the limit is negative
     */
    public Budget child(String childName, long childLimit) {
        requireNotNegative(childName, "limit", childLimit);
        return new Budget(childName, this, lock, childLimit, 0);
    }

    /**
     * Creates a child with a reservation, charged to this budget at once and as a whole. Requests charged to the child
     * cannot be rejected until its reservation is used up. Closing the child releases what it has not charged.
     *
     * @param childName its name in messages
     * @param byteSize the reservation, which is also the child's limit, in bytes
     * @return the child, or {@code null} if the bytes are not available
     * @throws IllegalArgumentException if the size is negative
     */
    public @Nullable Budget tryReserve(String childName, long byteSize) {
        requireNotNegative(childName, "reservation", byteSize);
        return tryCharge(byteSize) ? new Budget(childName, this, lock, byteSize, byteSize) : null;
    }

    /**
     * Charges bytes at this level and all above, or at none.
     *
     * @param byteSize number of bytes, at least 0
     * @return whether they were charged
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget is closed
     */
    public boolean tryCharge(long byteSize) {
        return charge(byteSize) == null;
    }

    /**
     * Charges bytes at this level and all above, or at none and reports why.
     *
     * @param byteSize number of bytes, at least 0
     * @return {@code null} if they were charged; otherwise the numbers of the budget that rejected them, at that moment
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget is closed
     */
    public @Nullable Status charge(long byteSize) {
        requireNotNegative(name, "charge", byteSize);
        lock.lock();
        try {
            requireOpen();
            final Budget rejecting = rejecting(byteSize);
            if (rejecting == null) {
                add(byteSize);
                return null;
            }
            rejecting.rejections++;
            return rejecting.statusLocked();
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Budget rejecting(long byteSize) {
        long growth = byteSize;
        for (Budget budget = this; budget != null && growth > 0; budget = budget.parent) {
            if (growth > budget.limit - budget.charge) {
                return budget;
            }
            growth = budget.shareOf(budget.charge + growth) - budget.shareOf(budget.charge);
        }
        return null;
    }

    private void add(long byteSize) {
        long growth = byteSize;
        for (Budget budget = this; budget != null && growth > 0; budget = budget.parent) {
            final long before = budget.shareOf(budget.charge);
            budget.charge += growth;
            budget.peakCharge = Math.max(budget.peakCharge, budget.charge);
            growth = budget.shareOf(budget.charge) - before;
        }
    }

    /**
     * Releases bytes at this level and all above.
     *
     * @param byteSize number of bytes, at most the charge
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if the charge is less; nothing changes
     */
    public void release(long byteSize) {
        requireNotNegative(name, "release", byteSize);
        lock.lock();
        try {
            if (byteSize > charge) {
                throw new IllegalStateException(
                        "release of " + byteSize + " bytes from " + name + ", to which " + charge + " are charged");
            }
            subtract(byteSize);
        } finally {
            lock.unlock();
        }
    }

    private void subtract(long byteSize) {
        long decline = byteSize;
        for (Budget budget = this; budget != null && decline > 0; budget = budget.parent) {
            final long before = budget.shareOf(budget.charge);
            budget.charge -= decline;
            decline = before - budget.shareOf(budget.charge);
        }
    }

    /** Returns what a charge costs the parent. */
    private long shareOf(long ownCharge) {
        return Math.max(ownCharge, reservation);
    }

    /**
     * Changes the limit. If it is below the charge, nothing is taken away, and requests are rejected until enough is
     * released.
     *
     * @param newLimit the most bytes that may be charged
     * @throws IllegalArgumentException if it is negative
     */
    public void setLimit(long newLimit) {
        requireNotNegative(name, "limit", newLimit);
        lock.lock();
        limit = newLimit;
        lock.unlock();
    }

    /**
     * Returns the numbers at this moment.
     *
     * @return limit, charge and the other numbers
     */
    public Status status() {
        lock.lock();
        try {
            return statusLocked();
        } finally {
            lock.unlock();
        }
    }

    private Status statusLocked() {
        return new Status(name, limit, charge, reservation, available(), peakCharge, rejections);
    }

    private long available() {
        if (isClosed) {
            return 0;
        }
        long above = UNLIMITED;
        if (parent != null) {
            above = parent.available();
            final long inReservation = reservation - Math.min(reservation, charge);
            above = above > UNLIMITED - inReservation ? UNLIMITED : above + inReservation;
        }
        return Math.max(0, Math.min(limit - charge, above));
    }

    /**
     * Returns whether a request is larger than the limit of this budget or one above. No release can make room for it.
     *
     * @param byteSize the size of the request in bytes
     * @return whether it is
     */
    public boolean isLimitBelow(long byteSize) {
        lock.lock();
        try {
            for (Budget budget = this; budget != null; budget = budget.parent) {
                if (byteSize > budget.limit) {
                    return true;
                }
            }
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether both are in one tree, so that a charge to one may count for the other too. */
    boolean isRelatedTo(Budget other) {
        return lock == other.lock;
    }

    /**
     * Closes this budget: it grants no more requests and releases the part of its reservation that is not charged. Its
     * charge stays until it is released. A second call does nothing.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (isClosed) {
                return;
            }
            isClosed = true;
            final long unneeded = shareOf(charge) - charge;
            reservation = 0;
            if (parent != null) {
                parent.subtract(unneeded);
            }
        } finally {
            lock.unlock();
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the budget " + name + " is closed");
        }
    }

    private static void requireNotNegative(String name, String what, long byteSize) {
        if (byteSize < 0) {
            throw new IllegalArgumentException(
                    what + " of " + name + " is " + byteSize + " bytes, it must not be negative");
        }
    }

    @Override
    public String toString() {
        return parent == null ? name : parent + "/" + name;
    }
}
