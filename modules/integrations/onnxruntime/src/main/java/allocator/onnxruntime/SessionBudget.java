package allocator.onnxruntime;

import allocator.spi.AllocatorStats;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Counts bytes in use against a limit, and against those of a larger budget if there is one. The limit is never
 * exceeded, not even briefly. If it is set below what is in use, every request fails until enough is freed.
 */
final class SessionBudget {
    /** The longs of a cache line. */
    private static final int LINE = 64 / Long.BYTES;

    private static final int USED = LINE;
    private static final int PEAK = 2 * LINE;

    private final @Nullable SessionBudget parent;

    /**
     * The bytes in use and their peak. Each is on a cache line of its own: all threads write the former, and where the
     * latter or the limit shared its line, a pair of calls from two threads took an eighth longer.
     */
    private final AtomicLongArray counts = new AtomicLongArray(3 * LINE);

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
        return counts.get(USED);
    }

    long peak() {
        return counts.get(PEAK);
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
            before = counts.get(USED);
            if (bytes > limit - before) {
                return this;
            }
        } while (!counts.compareAndSet(USED, before, before + bytes));
        if (parent != null) {
            final SessionBudget exhausted = parent.take(bytes);
            if (exhausted != null) {
                counts.addAndGet(USED, -bytes);
                return exhausted;
            }
        }
        return null;
    }

    /** Raises the peak, once memory was allocated for the bytes taken. A failed allocation leaves no peak. */
    void commit() {
        final long value = counts.get(USED);
        long seen = counts.get(PEAK);
        while (value > seen && !counts.compareAndSet(PEAK, seen, value)) {
            seen = counts.get(PEAK);
        }
        if (parent != null) {
            parent.commit();
        }
    }

    /** Returns bytes taken to this budget and to the larger ones. */
    void release(long bytes) {
        counts.addAndGet(USED, -bytes);
        if (parent != null) {
            parent.release(bytes);
        }
    }
}
