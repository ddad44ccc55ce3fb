package allocator.arena;

/**
 * The bytes that the lanes of an arena hold together, and the most they may hold. Guarded by {@link Lanes#deviceLock}:
 * between a check of what is available and the allocation, no other thread can take memory.
 */
final class HeldLimit {
    private final long limit;
    private long held;

    /** Also read without the lock. */
    private volatile long peakHeld;

    /** @param limit bytes, {@link Long#MAX_VALUE} for no limit */
    HeldLimit(long limit) {
        this.limit = limit;
    }

    /** Returns the bytes that may still be taken. */
    long available() {
        return limit - held;
    }

    void take(long byteSize) {
        held += byteSize;
        peakHeld = Math.max(peakHeld, held);
    }

    void giveBack(long byteSize) {
        held -= byteSize;
    }

    /** Returns the most bytes held so far. */
    long peakHeld() {
        return peakHeld;
    }
}
