package allocator.onnxruntime;

import allocator.spi.AllocatorStats;
import org.jspecify.annotations.Nullable;

/**
 * Counts bytes against a limit, and against those of a larger budget if there is one. The limit is never exceeded, not
 * even briefly. If it is set below what is taken, every request fails until enough is freed.
 *
 * <p>Bytes are taken before memory is allocated for them, and in use once it is. All levels change in one step, so that
 * a request that is rejected takes nothing from one that fits. The steps are plain stores under the lock of the larger
 * budget: no call divides them.
 */
final class SessionBudget {
    /** The larger budget that this one is a part of, which is not a part of another. */
    final @Nullable SessionBudget parent;

    /** Guards this budget and all that share the larger one. Who must not call anything holds it itself. */
    final Object lock;

    /** Bytes in use, and those of requests under way. */
    long taken;

    /** Bytes for which memory was allocated. */
    long used;

    /** The most that {@link #used} has been. */
    long peak;

    private long limit;

    /** Makes a budget that is empty; {@code parent} must have no parent. */
    SessionBudget(@Nullable SessionBudget parent, long limit) {
        this.parent = parent;
        if (parent != null && parent.parent != null) {
            throw new IllegalArgumentException("a budget has one larger budget, and that has none");
        }
        lock = parent == null ? this : parent;
        setLimit(limit);
    }

    /** Returns the limit, {@link AllocatorStats#UNLIMITED} if there is none. */
    long limit() {
        synchronized (lock) {
            return limit == Long.MAX_VALUE ? AllocatorStats.UNLIMITED : limit;
        }
    }

    /** Sets the limit, {@link AllocatorStats#UNLIMITED} for none. */
    void setLimit(long bytes) {
        if (bytes < 0 && bytes != AllocatorStats.UNLIMITED) {
            throw new IllegalArgumentException("a budget of " + bytes + " bytes; it must not be negative");
        }
        synchronized (lock) {
            limit = bytes == AllocatorStats.UNLIMITED ? Long.MAX_VALUE : bytes;
        }
    }

    long used() {
        synchronized (lock) {
            return used;
        }
    }

    long peak() {
        synchronized (lock) {
            return peak;
        }
    }

    /**
     * Takes bytes here and in the larger budget, or nothing, also if it throws for want of stack. What follows is
     * {@link #commit} or {@link #cancel}.
     *
     * @return the budget whose limit does not allow it, or {@code null} if the bytes were taken
     */
    @Nullable
    SessionBudget take(long bytes) {
        final SessionBudget larger = parent;
        synchronized (lock) {
            if (bytes > limit - taken) {
                return this;
            }
            if (larger != null) {
                if (bytes > larger.limit - larger.taken) {
                    return larger;
                }
                larger.taken += bytes;
            }
            taken += bytes;
            return null;
        }
    }

    /** Counts bytes taken as in use. */
    void commit(long bytes) {
        final SessionBudget larger = parent;
        synchronized (lock) {
            used += bytes;
            peak = used > peak ? used : peak;
            if (larger != null) {
                larger.used += bytes;
                larger.peak = larger.used > larger.peak ? larger.used : larger.peak;
            }
        }
    }

    /** Returns bytes taken for which there is no memory. */
    void cancel(long bytes) {
        final SessionBudget larger = parent;
        synchronized (lock) {
            taken -= bytes;
            if (larger != null) {
                larger.taken -= bytes;
            }
        }
    }

    /** Returns bytes in use to this budget and to the larger one. If it throws, it has done nothing. */
    void release(long bytes) {
        final SessionBudget larger = parent;
        synchronized (lock) {
            used -= bytes;
            taken -= bytes;
            if (larger != null) {
                larger.used -= bytes;
                larger.taken -= bytes;
            }
        }
    }
}
