package allocator.resource;

import allocator.spi.MemoryLocation;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * A limit on bytes that is never passed, with parts for tenants, tasks and requests.
 *
 * <p>Terms. A budget's <em>charge</em> is what was charged to it and not released. A child may have a
 * <em>reservation</em>, bytes that its parent sets aside for it from the start. What a child costs its parent is its
 * <em>share</em>: {@code max(charge, reservation)}. For every budget at every moment {@code charge <= limit}, except
 * after {@link #setLimit} lowered the limit below the charge, and {@code charge == own charges + sum of the children's
 * shares}.
 *
 * <p>All budgets of a tree change under one {@link SpinLock}: a request is checked at every level and then charged at
 * every level, as one step. So no request is ever refused because of another that is itself refused in the end, and
 * none is refused that would fit. A charge costs about one compare-and-set, whatever the depth.
 */
public final class Budget implements AutoCloseable {
    /** The limit of a budget that has none. */
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
    private long refusals;
    private boolean closed;

    /**
     * A budget's numbers at one moment.
     *
     * @param name the budget
     * @param limit the most that may be charged
     * @param charge bytes that are charged, reservations of children included
     * @param reservation bytes that the parent sets aside, {@code 0} if none
     * @param available bytes that a request could have had, here and at every level above
     * @param peakCharge the most that {@code charge} has been
     * @param refusals requests that were refused because of this budget
     */
    public record Status(
            String name, long limit, long charge, long reservation, long available, long peakCharge, long refusals) {}

    private Budget(String name, @Nullable Budget parent, SpinLock lock, long limit, long reservation) {
        this.name = name;
        this.parent = parent;
        this.lock = lock;
        this.limit = limit;
        this.reservation = reservation;
    }

    /**
     * Makes a budget of its own.
     *
     * @param name what it is called in messages
     * @param limit the most that may be charged, in bytes, from 0 to {@link #UNLIMITED}
     * @return the budget
     * @throws IllegalArgumentException if the limit is negative
     */
    public static Budget of(String name, long limit) {
        requireNotNegative(name, "limit", limit);
        return new Budget(name, null, new SpinLock(), limit, 0);
    }

    /**
     * The budget of a device's memory for the whole process: everybody who asks gets the same one. It is unlimited
     * until somebody {@linkplain #setLimit limits} it.
     *
     * @param location the memory
     * @return its budget
     */
    public static Budget ofDevice(MemoryLocation location) {
        return OF_DEVICES.computeIfAbsent(location, key -> of(key.toString(), UNLIMITED));
    }

    /**
     * Makes a part of this budget. What is charged to the part is charged here too.
     *
     * @param childName what it is called in messages
     * @param childLimit the most that may be charged to it, in bytes
     * @return the part
     * @throws IllegalArgumentException if the limit is negative
     */
    public Budget child(String childName, long childLimit) {
        requireNotNegative(childName, "limit", childLimit);
        return new Budget(childName, this, lock, childLimit, 0);
    }

    /**
     * Sets bytes aside: makes a part of this budget that is charged here at once and as a whole, so that requests
     * against the part, up to as many bytes, cannot fail any more. Closing the part releases what it does not need.
     *
     * @param childName what it is called in messages
     * @param byteSize the reservation, which is also the part's limit, in bytes
     * @return the part, or {@code null} if the bytes are not available
     * @throws IllegalArgumentException if the size is negative
     */
    public @Nullable Budget tryReserve(String childName, long byteSize) {
        requireNotNegative(childName, "reservation", byteSize);
        return tryCharge(byteSize) ? new Budget(childName, this, lock, byteSize, byteSize) : null;
    }

    /**
     * Charges bytes here and at every level above, or nowhere.
     *
     * @param byteSize how many, at least 0
     * @return whether they fitted
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget is closed
     */
    public boolean tryCharge(long byteSize) {
        return charge(byteSize) == null;
    }

    /** Charges bytes, or tells the budget that refused, as it was then. */
    @Nullable
    Status charge(long byteSize) {
        requireNotNegative(name, "charge", byteSize);
        lock.lock();
        try {
            requireOpen();
            final Budget refusing = refusing(byteSize);
            if (refusing == null) {
                add(byteSize);
                return null;
            }
            refusing.refusals++;
            return refusing.statusLocked();
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Budget refusing(long byteSize) {
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
     * Releases bytes here and at every level above.
     *
     * @param byteSize how many, at most what is charged
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if less is charged; nothing changes then
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

    /** What a charge costs the parent. */
    private long shareOf(long ownCharge) {
        return Math.max(ownCharge, reservation);
    }

    /**
     * Changes the limit. A limit below the charge takes nothing away; nothing more is granted until enough is released.
     *
     * @param newLimit the most that may be charged, in bytes
     * @throws IllegalArgumentException if it is negative
     */
    public void setLimit(long newLimit) {
        requireNotNegative(name, "limit", newLimit);
        lock.lock();
        limit = newLimit;
        lock.unlock();
    }

    /**
     * The numbers at this moment.
     *
     * @return limit, charge and what else there is
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
        return new Status(name, limit, charge, reservation, available(), peakCharge, refusals);
    }

    private long available() {
        if (closed) {
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

    /** Whether a request of this size could never be granted, whatever is released. */
    boolean isAbove(long byteSize) {
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

    /** Whether a charge to one can be a charge to the other as well. */
    boolean isRelatedTo(Budget other) {
        return lock == other.lock;
    }

    /**
     * Ends this part: nothing more is granted, and what is reserved but not charged goes back to the parent. What is
     * charged is released as it would have been. A second call does nothing.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
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
        if (closed) {
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
