package allocator.provider.support.budget;

import allocator.provider.support.internal.BriefLock;
import allocator.provider.support.internal.ChangeMark;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * A hard limit on bytes, with child budgets for tenants, tasks and requests.
 *
 * <p>Terms. The <em>own charges</em> of a budget are the bytes charged to it by {@link #charge} or {@link #tryCharge}
 * and not yet released by {@link #release}. A child may have a <em>reservation</em>: bytes that its parent sets aside
 * for it. The <em>share</em> of a child, {@code max(charge, reservation)}, is what it costs its parent. The
 * <em>charge</em> of a budget is its own charges and the shares of its children. Charged bytes are <em>pending</em>
 * once they are freed and wait for their stream: see {@link #pend}.
 *
 * <p>Invariants, for every budget at every moment: {@code charge <= limit}, unless {@link #setLimit} lowered the limit
 * below the charge; {@code charge == own charges + sum of the children's shares}; {@code pending == own pending + sum
 * of the children's pending}, and at most the charge.
 *
 * <p>All budgets of a tree share one lock. A request is checked and charged at every level in one step, so a request
 * that fits is never rejected because of another that is rejected in the end. A charge costs about one compare-and-set,
 * at any depth.
 */
public final class Budget implements AutoCloseable {
    /** The limit of a budget without a limit. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final MemoryLocation HOST = new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT);
    private static final ConcurrentMap<MemoryLocation, Budget> OF_DEVICES = new ConcurrentHashMap<>();

    /** Causes may form a cycle. */
    private static final int MOST_CAUSES = 8;

    private final String name;
    private final @Nullable Budget parent;
    private final BriefLock lock;

    /** Set while charges of the tree change. Guarded by the lock. */
    private final ChangeMark mark;

    private final boolean isOfProcess;

    // Guarded by the lock
    private volatile long limit; // also read without the lock
    private long reservation;
    private long charge;
    private long ownCharges;
    private long pending;
    private long ownPending;
    private long peakCharge;
    private long rejections;
    private boolean isClosed;

    // The children to which bytes are charged, as a list without objects of its own
    private @Nullable Budget firstHolder;
    private @Nullable Budget nextHolder;
    private @Nullable Budget previousHolder;

    /**
     * The numbers of a budget at one moment.
     *
     * @param name the name of the budget
     * @param limit the most bytes that may be charged
     * @param charge bytes charged, the children's shares included
     * @param pending bytes of {@code charge} that are freed and wait for their stream, those of the children included
     * @param reservation bytes that the parent sets aside for this budget, {@code 0} if none
     * @param available bytes that a request could have been granted, at this level and all above
     * @param peakCharge the maximum of {@code charge}
     * @param rejections number of requests that this budget rejected, its own and those of its children
     */
    public record Status(
            String name,
            long limit,
            long charge,
            long pending,
            long reservation,
            long available,
            long peakCharge,
            long rejections) {}

    private Budget(String name, @Nullable Budget parent, long limit, long reservation, boolean isOfProcess) {
        this.name = name;
        this.parent = parent;
        this.lock = parent == null ? new BriefLock() : parent.lock;
        this.mark = parent == null ? new ChangeMark() : parent.mark;
        this.isOfProcess = isOfProcess;
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
        return new Budget(name, null, limit, 0, false);
    }

    /**
     * {@return the budget of a device's memory for the whole process, the same one for every caller} It is unlimited
     * until {@link #setLimit} is called, and always open: {@link #close} does nothing, since other code uses the same
     * budget.
     *
     * @param location the memory
     */
    public static Budget ofDevice(MemoryLocation location) {
        return OF_DEVICES.computeIfAbsent(location, key -> new Budget(key.toString(), null, UNLIMITED, 0, true));
    }

    /**
     * {@return the {@linkplain #ofDevice budget of the device} that a memory is of, which a provider charges with what
     * it holds} Memory that a device shares with the host is the host's.
     *
     * @param memory the memory
     */
    public static Budget ofMemory(MemoryInfo memory) {
        final MemoryLocation location = memory.location();
        return ofDevice(location.memoryType() == MemoryType.DEFAULT ? location : HOST);
    }

    /**
     * {@return whether the budget of a memory's device rejected a request} The exception may be that of an arena, whose
     * cause is the rejection.
     *
     * @param failure the exception of the request
     * @param memory the memory that was requested
     */
    public static boolean hasRejected(OutOfMemoryException failure, MemoryInfo memory) {
        final String device = BudgetDump.limitedBy(ofMemory(memory).name);
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < MOST_CAUSES; depth++) {
            if (cause instanceof OutOfMemoryException rejection
                    && rejection.shortage().limitedBy().equals(device)) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
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
        return new Budget(childName, this, childLimit, 0, false);
    }

    /**
     * Creates a child with a reservation, charged to this budget at once and as a whole. Requests charged to the child
     * cannot be rejected until its reservation is used up. Closing the child releases what it has not charged.
     *
     * @param childName its name in messages
     * @param byteSize the reservation, which is also the child's limit, in bytes
     * @return the child, or {@code null} if the bytes are not available
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget or one above is closed
     */
    public @Nullable Budget tryReserve(String childName, long byteSize) {
        requireNotNegative(childName, "reservation", byteSize);
        final Budget child = new Budget(childName, this, byteSize, byteSize, false);
        return charge(byteSize, 0) == null ? child : null;
    }

    /**
     * Charges bytes at this level and all above, or at none.
     *
     * @param byteSize number of bytes, at least 0
     * @return whether they were charged
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget or one above is closed
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
     * @throws IllegalStateException if this budget or one above is closed
     */
    public @Nullable Status charge(long byteSize) {
        requireNotNegative(name, "charge", byteSize);
        return charge(byteSize, byteSize);
    }

    /**
     * Charges bytes at this level and all above.
     *
     * @param byteSize number of bytes, at least 0
     * @param memory the memory that they are of, for the exception
     * @throws OutOfMemoryException if they were not charged
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget or one above is closed
     */
    public void require(long byteSize, MemoryInfo memory) {
        final Status rejection = charge(byteSize);
        if (rejection != null) {
            throw outOfMemory(rejection, memory, byteSize, "");
        }
    }

    /**
     * Releases bytes that were charged to this budget itself, at this level and all above. What is charged to a child
     * is the child's to release.
     *
     * @param byteSize number of bytes, at most the own charges that are not pending
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if these are less; nothing changes
     */
    public void release(long byteSize) {
        requireNotNegative(name, "release", byteSize);
        lock.lock();
        try {
            requireNotPending(byteSize, "release");
            mark.begin();
            add(-byteSize);
            ownCharges -= byteSize;
            mark.end();
        } finally {
            lock.unlock();
        }
    }

    private void requireNotPending(long byteSize, String what) {
        if (byteSize > ownCharges - ownPending) {
            throw new IllegalStateException(what + " of " + byteSize + " bytes from " + name + ", to which "
                    + ownCharges + " are charged, not counting its children"
                    + (ownPending > 0 ? ", " + ownPending + " of them pending" : ""));
        }
    }

    /**
     * Makes own charges pending, at this level and all above: they are freed, and charged until their stream has
     * reached the free.
     *
     * @param byteSize number of bytes, at most the own charges that are not pending
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if these are less; nothing changes
     */
    public void pend(long byteSize) {
        requireNotNegative(name, "pend", byteSize);
        lock.lock();
        try {
            requireNotPending(byteSize, "pend");
            mark.begin();
            addPending(byteSize);
            mark.end();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Releases bytes that are pending, at this level and all above.
     *
     * @param byteSize number of bytes, at most what {@link #pend} made pending here
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if less is pending; nothing changes
     */
    public void releasePending(long byteSize) {
        requireNotNegative(name, "release", byteSize);
        lock.lock();
        try {
            if (byteSize > ownPending) {
                throw new IllegalStateException("release of " + byteSize + " pending bytes from " + name + ", where "
                        + ownPending + " are pending, not counting its children");
            }
            mark.begin();
            addPending(-byteSize);
            add(-byteSize);
            ownCharges -= byteSize;
            mark.end();
        } finally {
            lock.unlock();
        }
    }

    private void addPending(long byteSize) {
        ownPending += byteSize;
        for (Budget budget = this; budget != null; budget = budget.parent) {
            budget.pending += byteSize;
        }
    }

    /**
     * Changes the reservation: the parent sets aside these bytes, or the charge if that is more. A pool sets aside what
     * it holds, so that memory which it caches counts for the parent and serves its own requests. A second call that
     * asks for less gives the rest back.
     *
     * @param byteSize the new reservation in bytes; {@code 0} for none
     * @return {@code null} if it has changed; otherwise the numbers of the budget above that rejected it
     * @throws IllegalArgumentException if the size is negative
     * @throws IllegalStateException if this budget has no parent, or more is needed and it or one above is closed
     */
    public @Nullable Status reserve(long byteSize) {
        requireNotNegative(name, "reservation", byteSize);
        lock.lock();
        try {
            mark.requireWhole(name);
            if (parent == null) {
                throw new IllegalStateException(name + " has no parent that could set bytes aside");
            }
            final long growth = Math.max(charge, byteSize) - shareOf(charge);
            if (growth > 0 && isClosed) {
                throw new IllegalStateException("the budget " + path() + " is closed");
            }
            final Budget rejecting = growth > 0 ? parent.rejecting(growth) : null;
            if (rejecting != null) {
                final Status rejection = rejecting.statusLocked(1);
                rejecting.rejections++;
                return rejection;
            }
            mark.begin();
            reservation = byteSize;
            parent.add(growth);
            mark.end();
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Charges bytes, of which some are own charges: the reservation of a child is none. */
    private @Nullable Status charge(long byteSize, long own) {
        lock.lock();
        try {
            mark.requireWhole(name);
            final Budget rejecting = rejecting(byteSize);
            if (rejecting != null) {
                final Status rejection = rejecting.statusLocked(1);
                rejecting.rejections++;
                return rejection;
            }
            mark.begin();
            add(byteSize);
            ownCharges += own;
            mark.end();
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the budget that rejects a charge, {@code null} if none does; throws if one at or above is closed. */
    private @Nullable Budget rejecting(long byteSize) {
        Budget rejecting = null;
        long growth = byteSize;
        for (Budget budget = this; budget != null; budget = budget.parent) {
            if (budget.isClosed) {
                throw new IllegalStateException("the budget " + budget.path() + " is closed");
            }
            if (rejecting == null && growth > 0) {
                if (growth > budget.limit - budget.charge) {
                    rejecting = budget;
                } else {
                    growth = budget.shareOf(budget.charge + growth) - budget.shareOf(budget.charge);
                }
            }
        }
        return rejecting;
    }

    /** Adds bytes, or takes them away if negative, at this level and all above. */
    private void add(long byteSize) {
        long change = byteSize;
        for (Budget budget = this; budget != null && change != 0; budget = budget.parent) {
            final long before = budget.charge;
            final long after = before + change;
            budget.charge = after;
            budget.peakCharge = Math.max(budget.peakCharge, after);
            if (budget.parent != null && before == 0) {
                budget.parent.addHolder(budget);
            } else if (budget.parent != null && after == 0) {
                budget.parent.removeHolder(budget);
            }
            change = budget.shareOf(after) - budget.shareOf(before);
        }
    }

    private void addHolder(Budget child) {
        if (firstHolder != null) {
            firstHolder.previousHolder = child;
        }
        child.nextHolder = firstHolder;
        firstHolder = child;
    }

    private void removeHolder(Budget child) {
        if (child.nextHolder != null) {
            child.nextHolder.previousHolder = child.previousHolder;
        }
        if (child.previousHolder != null) {
            child.previousHolder.nextHolder = child.nextHolder;
        } else {
            firstHolder = child.nextHolder;
        }
        child.nextHolder = null;
        child.previousHolder = null;
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
        try {
            limit = newLimit;
        } finally {
            lock.unlock();
        }
    }

    /** {@return whether this budget has a limit of its own; takes no lock} */
    public boolean isLimited() {
        return limit != UNLIMITED;
    }

    /** {@return limit, charge and the other numbers at this moment} */
    public Status status() {
        lock.lock();
        try {
            return statusLocked(0);
        } finally {
            lock.unlock();
        }
    }

    Status statusLocked(long more) {
        return new Status(
                name,
                limit,
                charge,
                pending,
                reservation,
                isAnyClosed() ? 0 : available(),
                peakCharge,
                rejections + more);
    }

    private long available() {
        final long above = parent == null ? UNLIMITED : parent.available();
        final long inReservation = shareOf(charge) - charge;
        final long grantedAbove = above > UNLIMITED - inReservation ? UNLIMITED : above + inReservation;
        return Math.max(0, Math.min(limit - charge, grantedAbove));
    }

    private boolean isAnyClosed() {
        return isClosed || (parent != null && parent.isAnyClosed());
    }

    /**
     * {@return the exception for a request that this budget or one above rejected} Its dump names the request, the
     * budgets that it would have been charged to, and who holds what of the one that rejected it.
     *
     * @param rejection the numbers that {@link #charge} returned
     * @param memory the memory that was requested
     * @param byteSize the size of the request in bytes
     * @param report what was tried to make room, or other details, for the dump; may be empty
     */
    public OutOfMemoryException outOfMemory(Status rejection, MemoryInfo memory, long byteSize, String report) {
        return BudgetDump.exception(this, rejection, memory, byteSize, report);
    }

    @Nullable
    Budget parent() {
        return parent;
    }

    BriefLock lock() {
        return lock;
    }

    /** Returns the first child to which bytes are charged, the others by {@link #nextHolder}. Under the lock. */
    @Nullable
    Budget firstHolder() {
        return firstHolder;
    }

    /** Returns the next child of the same parent to which bytes are charged. Under the lock. */
    @Nullable
    Budget nextHolder() {
        return nextHolder;
    }

    /**
     * {@return whether a request is larger than the limit of this budget or one above} No release can make room for it.
     *
     * @param byteSize the size of the request in bytes
     */
    public boolean isLimitBelow(long byteSize) {
        lock.lock();
        try {
            boolean isBelow = false;
            for (Budget budget = this; budget != null; budget = budget.parent) {
                isBelow |= byteSize > budget.limit;
            }
            return isBelow;
        } finally {
            lock.unlock();
        }
    }

    /**
     * {@return whether both are in one tree, so that a charge to one may count for the other too}
     *
     * @param other another budget
     */
    public boolean isRelatedTo(Budget other) {
        return lock == other.lock;
    }

    /**
     * Closes this budget: neither it nor a budget below it grants requests any more, and the part of its reservation
     * that is not charged is released. Its charge stays until it is released. A second call does nothing, nor does a
     * call for the budget {@linkplain #ofDevice of a device}.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (!isClosed && !isOfProcess) {
                final long unneeded = shareOf(charge) - charge;
                mark.begin();
                isClosed = true;
                reservation = 0;
                if (parent != null) {
                    parent.add(-unneeded);
                }
                mark.end();
            }
        } finally {
            lock.unlock();
        }
    }

    private static void requireNotNegative(String name, String what, long byteSize) {
        if (byteSize < 0) {
            throw new IllegalArgumentException(
                    what + " of " + name + " is " + byteSize + " bytes, it must not be negative");
        }
    }

    /** {@return the names of the budgets from the top to this one, separated by slashes} */
    public String path() {
        return parent == null ? name : parent.path() + "/" + name;
    }

    /** Returns the path and, for people, what is in use, the limit and the peak. */
    @Override
    public String toString() {
        return BudgetDump.describe(path(), status());
    }
}
