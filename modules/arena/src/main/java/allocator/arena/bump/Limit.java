package allocator.arena.bump;

import allocator.spi.AllocatorStats;

/**
 * An upper bound on bytes, in the form in which options state it: {@code 0} means no limit.
 *
 * @param bytes the bound in bytes, or {@code 0}
 */
record Limit(long bytes) {
    static final Limit NONE = new Limit(0);

    /** Returns the bytes that may be added to {@code held}. */
    long left(long held) {
        return (bytes == 0 ? Long.MAX_VALUE : bytes) - held;
    }

    /** Returns the bound as statistics and failures report it: {@link AllocatorStats#UNLIMITED} if there is none. */
    long reported() {
        return bytes == 0 ? AllocatorStats.UNLIMITED : bytes;
    }
}
