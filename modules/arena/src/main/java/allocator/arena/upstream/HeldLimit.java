package allocator.arena.upstream;

/**
 * The bytes that the lanes of an arena hold together, and the most they may hold. Guarded by the lock under which the
 * device is called: between a check of what is available and the allocation, no other thread can take memory.
 */
public final class HeldLimit {
    private final long limit;
    private long held;

    /** Also read without the lock. */
    private volatile long peakHeld;

    /**
     * Creates a limit.
     *
     * @param limit bytes, {@link Long#MAX_VALUE} for no limit
     */
    public HeldLimit(long limit) {
        this.limit = limit;
    }

    /** Returns the most bytes that may be held, {@link Long#MAX_VALUE} for no limit. */
    public long limit() {
        return limit;
    }

    /** Returns the bytes that may still be taken. */
    public long available() {
        return limit - held;
    }

    /** Counts bytes taken from the device. */
    public void take(long byteSize) {
        held += byteSize;
        peakHeld = Math.max(peakHeld, held);
    }

    /** Counts bytes returned to the device. */
    public void giveBack(long byteSize) {
        held -= byteSize;
    }

    /** Returns the most bytes held so far. */
    public long peakHeld() {
        return peakHeld;
    }
}
