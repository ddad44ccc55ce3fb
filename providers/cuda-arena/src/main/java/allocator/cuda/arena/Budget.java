package allocator.cuda.arena;

import allocator.spi.AllocatorStats;

/** What several arenas may take from one device together, and what they have taken. Safe for use by any thread. */
final class Budget {
    private final long limit;
    private long held;
    private long peakHeld;

    /** @param limit bytes, {@link AllocatorStats#UNLIMITED} for no limit */
    Budget(long limit) {
        this.limit = limit;
    }

    synchronized boolean tryTake(long byteSize) {
        if (limit != AllocatorStats.UNLIMITED && byteSize > limit - held) {
            return false;
        }
        held += byteSize;
        return true;
    }

    /** What was taken has really been got from the device. */
    synchronized void confirm() {
        peakHeld = Math.max(peakHeld, held);
    }

    synchronized void giveBack(long byteSize) {
        held -= byteSize;
    }

    long limit() {
        return limit;
    }

    synchronized long peakHeld() {
        return peakHeld;
    }
}
