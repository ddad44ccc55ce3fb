package allocator.provider.support.internal;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits how many messages of one kind are logged: a device that fails for good would fill a disk at the close of an
 * allocator with many blocks. The first 16 are logged, then each whose number is a power of two.
 *
 * <p>Safe for use by several threads. Takes no Java heap after it was created.
 */
public final class LogLimit {
    /** How many messages are logged before some are left out. */
    public static final int ALL_UNTIL = 16;

    private final AtomicLong count = new AtomicLong();

    /** Creates a limit that has counted no message. */
    public LogLimit() {}

    /**
     * Counts a message.
     *
     * @return its number, from 1, if it is to be logged; otherwise 0
     */
    public long next() {
        final long number = count.incrementAndGet();
        return number <= ALL_UNTIL || Long.bitCount(number) == 1 ? number : 0;
    }

    /**
     * {@return what to append to a message; nothing while all are logged}
     *
     * @param number what {@link #next} returned for it
     */
    public static String suffix(long number) {
        return number < ALL_UNTIL ? "" : " (number " + number + " of its kind; few of the next ones are logged)";
    }
}
