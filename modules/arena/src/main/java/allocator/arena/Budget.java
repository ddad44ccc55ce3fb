package allocator.arena;

/**
 * What the lanes of an arena hold together, and the most they may. Guarded by {@link Lanes#deviceLock}: who takes
 * memory looks here first, and nobody else can take any meanwhile.
 */
final class Budget {
    private final long limit;
    private long held;

    /** Also read without the lock. */
    private volatile long peakHeld;

    /** @param limit bytes, {@link Long#MAX_VALUE} for no limit */
    Budget(long limit) {
        this.limit = limit;
    }

    /** What is left. */
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

    /** The most that was held. */
    long peakHeld() {
        return peakHeld;
    }
}
