package allocator.onnxruntime;

import allocator.spi.AllocatorStats;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Counts bytes in use against a limit, and against those of a larger budget if there is one. The limit is never
 * exceeded, not even briefly. If it is set below what is in use, every request fails until enough is freed.
 */
final class SessionBudget {
    private final @Nullable SessionBudget parent;
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private volatile long limit;

    SessionBudget(@Nullable SessionBudget parent, long limit) {
        this.parent = parent;
        setLimit(limit);
    }

    /** Returns the limit, {@link AllocatorStats#UNLIMITED} if there is none. */
    long limit() {
        return limit == Long.MAX_VALUE ? AllocatorStats.UNLIMITED : limit;
    }

    /** Sets the limit, {@link AllocatorStats#UNLIMITED} for none. */
    void setLimit(long bytes) {
        if (bytes < 0 && bytes != AllocatorStats.UNLIMITED) {
            throw new IllegalArgumentException("a budget of " + bytes + " bytes; it must not be negative");
        }
        limit = bytes == AllocatorStats.UNLIMITED ? Long.MAX_VALUE : bytes;
    }

    long used() {
        return used.get();
    }

    long peak() {
        return peak.get();
    }

    /**
     * Takes bytes here and in the larger budgets, or nothing.
     *
     * @return the budget whose limit does not allow it, or {@code null} if the bytes were taken
     */
    @Nullable
    SessionBudget take(long bytes) {
        long before;
        do {
            before = used.get();
            if (bytes > limit - before) {
                return this;
            }
        } while (!used.compareAndSet(before, before + bytes));
        if (parent != null) {
            final SessionBudget exhausted = parent.take(bytes);
            if (exhausted != null) {
                used.addAndGet(-bytes);
                return exhausted;
            }
        }
        return null;
    }

    /** Raises the peak, once memory was allocated for the bytes taken. A failed allocation leaves no peak. */
    void commit() {
        final long value = used.get();
        long seen = peak.get();
        while (value > seen && !peak.compareAndSet(seen, value)) {
            seen = peak.get();
        }
        if (parent != null) {
            parent.commit();
        }
    }

    /** Returns bytes taken to this budget and to the larger ones. */
    void release(long bytes) {
        used.addAndGet(-bytes);
        if (parent != null) {
            parent.release(bytes);
        }
    }
}
