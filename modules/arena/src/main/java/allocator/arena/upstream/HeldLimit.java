package allocator.arena.upstream;

import java.util.function.LongSupplier;

/**
 * The bytes that the lanes of an arena hold together, and the most they may hold. Guarded by the lock under which the
 * device is called: between a check of what is available and the allocation, no other thread can take memory. What the
 * upstream allocator's device did not take back counts as well.
 */
public final class HeldLimit {
    private final long limit;
    private final LongSupplier unreturned;
    private long held;

    /** Also read without the lock. */
    private volatile long peakHeld;

    /**
     * Creates a limit.
     *
     * @param limit bytes, {@link Long#MAX_VALUE} for no limit
     * @param unreturned returns the bytes that the upstream allocator's device did not take back; waits for nothing
     */
    public HeldLimit(long limit, LongSupplier unreturned) {
        this.limit = limit;
        this.unreturned = unreturned;
    }

    /** Returns the most bytes that may be held, {@link Long#MAX_VALUE} for no limit. */
    public long limit() {
        return limit;
    }

    /** Returns the bytes that may still be taken. */
    public long available() {
        return Math.max(0, limit - held - unreturned.getAsLong());
    }

    /** Counts bytes taken from the device. */
    public void take(long byteSize) {
        held += byteSize;
        peakHeld = Math.max(peakHeld, withUnreturned(held));
    }

    /** Counts bytes returned to the device. */
    public void giveBack(long byteSize) {
        held -= byteSize;
    }

    /**
     * Returns bytes held by lanes and what the upstream allocator's device did not take back. At most the limit: for a
     * moment memory counts as held here and there.
     */
    public long withUnreturned(long byLanes) {
        final long sum = byLanes + unreturned.getAsLong();
        return Math.max(byLanes, Math.min(limit, sum));
    }

    /** Returns the most bytes held so far. */
    public long peakHeld() {
        return peakHeld;
    }
}
