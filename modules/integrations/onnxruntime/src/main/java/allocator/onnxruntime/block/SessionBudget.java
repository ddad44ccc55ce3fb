package allocator.onnxruntime.block;

import allocator.spi.AllocatorStats;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Counts bytes in use against a limit, and against those of a larger budget if there is one. The limit is never
 * exceeded, not even briefly. If it is set below what is in use, every request fails until enough is freed.
 */
public final class SessionBudget {
    /** The longs of a cache line. */
    private static final int LINE = 64 / Long.BYTES;

    private static final int USED = LINE;
    private static final int PEAK = 2 * LINE;

    /** The larger budget that this one is a part of, which is not a part itself. */
    private final @Nullable SessionBudget parent;

    /**
     * The bytes in use and their peak. Each is on a cache line of its own: all threads write the former, and where the
     * latter or the limit shared its line, a pair of calls from two threads took an eighth longer.
     */
    private final AtomicLongArray counts = new AtomicLongArray(3 * LINE);

    private volatile long limit;

    /**
     * Creates a budget of which nothing is used.
     *
     * @param parent the larger budget, which has none itself, or {@code null}
     * @param limit bytes, {@link AllocatorStats#UNLIMITED} for none
     */
    public SessionBudget(@Nullable SessionBudget parent, long limit) {
        if (parent != null && parent.parent != null) {
            throw new IllegalArgumentException("a budget of three levels");
        }
        this.parent = parent;
        setLimit(limit);
    }

    /** Returns the larger budget, or {@code null}. */
    public @Nullable SessionBudget parent() {
        return parent;
    }

    /** Returns the limit, {@link AllocatorStats#UNLIMITED} if there is none. */
    public long limit() {
        return limit == Long.MAX_VALUE ? AllocatorStats.UNLIMITED : limit;
    }

    /** Sets the limit, {@link AllocatorStats#UNLIMITED} for none. */
    public void setLimit(long bytes) {
        if (bytes < 0 && bytes != AllocatorStats.UNLIMITED) {
            throw new IllegalArgumentException("a budget of " + bytes + " bytes; it must not be negative");
        }
        limit = bytes == AllocatorStats.UNLIMITED ? Long.MAX_VALUE : bytes;
    }

    /** Returns the bytes in use. */
    public long used() {
        return counts.get(USED);
    }

    /** Returns the most bytes that were in use at once. */
    public long peak() {
        return counts.get(PEAK);
    }

    /**
     * Takes bytes here and in the larger budget, or nothing. A request that the larger budget rejects is not counted
     * here meanwhile, where it would let this budget reject another one; unless the larger budget is used up between
     * the two steps.
     *
     * @return the budget whose limit does not allow it, or {@code null} if the bytes were taken
     */
    public @Nullable SessionBudget take(long bytes) {
        long before;
        do {
            before = counts.get(USED);
            if (bytes > limit - before) {
                return this;
            }
            if (parent != null && parent.rejects(bytes)) {
                return parent;
            }
        } while (!counts.compareAndSet(USED, before, before + bytes));
        final SessionBudget exhausted = parent == null ? null : parent.take(bytes);
        if (exhausted != null) {
            counts.addAndGet(USED, -bytes);
        }
        return exhausted;
    }

    /** Returns whether the limit does not allow bytes more. */
    private boolean rejects(long bytes) {
        return bytes > limit - used();
    }

    /** Raises the peak, once memory was allocated for the bytes taken. A failed allocation leaves no peak. */
    public void commit() {
        final long value = used();
        long seen = counts.get(PEAK);
        while (value > seen && !counts.compareAndSet(PEAK, seen, value)) {
            seen = counts.get(PEAK);
        }
        if (parent != null) {
            parent.commit();
        }
    }

    /** Returns bytes taken to this budget and to the larger one. */
    public void release(long bytes) {
        counts.addAndGet(USED, -bytes);
        if (parent != null) {
            parent.release(bytes);
        }
    }
}
