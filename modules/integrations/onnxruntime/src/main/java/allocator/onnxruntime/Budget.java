package allocator.onnxruntime;

import allocator.spi.AllocatorStats;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Bytes in use against a limit, within those of a larger budget if there is one. The limit is never passed, not even
 * for a moment; lowered below what is in use, it refuses everything until enough is freed.
 */
final class Budget {
    private final @Nullable Budget parent;
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private volatile long limit;

    Budget(@Nullable Budget parent, long limit) {
        this.parent = parent;
        setLimit(limit);
    }

    /** The limit, {@link AllocatorStats#UNLIMITED} if there is none. */
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

    /** Takes bytes here and in the larger budgets, or nothing. Returns the budget that refuses, or {@code null}. */
    @Nullable
    Budget take(long bytes) {
        long before;
        do {
            before = used.get();
            if (bytes > limit - before) {
                return this;
            }
        } while (!used.compareAndSet(before, before + bytes));
        if (parent != null) {
            final Budget refusing = parent.take(bytes);
            if (refusing != null) {
                used.addAndGet(-bytes);
                return refusing;
            }
        }
        return null;
    }

    /**
     * Says that what was taken has become memory, which the peak is of: what the allocator refuses is given back and
     * was never there.
     */
    void granted() {
        final long value = used.get();
        long seen = peak.get();
        while (value > seen && !peak.compareAndSet(seen, value)) {
            seen = peak.get();
        }
        if (parent != null) {
            parent.granted();
        }
    }

    void giveBack(long bytes) {
        used.addAndGet(-bytes);
        if (parent != null) {
            parent.giveBack(bytes);
        }
    }
}
