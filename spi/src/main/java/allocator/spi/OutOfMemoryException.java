package allocator.spi;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a limit or the device cannot satisfy a request: the only report of exhaustion. Unlike
 * {@link OutOfMemoryError} it is meant to be caught; live blocks stay valid. If the Java heap has no room for a table
 * of the provider, the call throws the virtual machine's {@code OutOfMemoryError} instead; live blocks stay valid then
 * too.
 *
 * <p>The message is the reason, followed by the {@link Shortage} in brackets: {@code reason [Cpu (cpu:0): cannot
 * allocate 24.0 MiB (25,165,824 bytes): limit 64.0 MiB (67,108,864 bytes), in use with rounding 50.6 MiB (53,012,480
 * bytes), ...]}. Numbers that are not known are left out. Where a budget rejected the request, the brackets have what
 * is charged to it in place of the allocator's figures: {@code charged 34.3 MiB (36,000,000 bytes) of 40.0 MiB
 * (41,943,040 bytes)}.
 */
public final class OutOfMemoryException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** Stands for a figure that is not known. No figure has this value, nor has {@link AllocatorStats#UNLIMITED}. */
    public static final long UNKNOWN = Long.MIN_VALUE;

    /** The figures of the failure. */
    private final Shortage shortage;

    /** The allocator at the failure. */
    private final String dump;

    /**
     * The figures of a failure. All are bytes; {@link #UNKNOWN} where not known. Only the limit may be
     * {@link AllocatorStats#UNLIMITED}.
     *
     * @param memory the memory that ran out
     * @param requested the requested size
     * @param rounded the size that would have been allocated
     * @param limit the limit of {@code held}; {@link AllocatorStats#UNLIMITED} if there is none, {@link #UNKNOWN} if
     *     the one who reports the failure does not know whether there is one: an allocator knows its own
     * @param inUse the bytes of live blocks, including what rounding and unsplit chunks add to the requested sizes
     * @param held the bytes taken from the device
     * @param largestFree the largest free chunk that the requester could use
     * @param deviceFree the bytes free on the device in {@code memory}, or fewer if it grants no single block as large
     * @param limitedBy the budget that rejected the request, such as {@code the budget of two}: {@code limit} is its
     *     limit then, {@code inUse} what is charged to it, and what the allocator holds is not known; empty if no
     *     budget did
     */
    public record Shortage(
            MemoryInfo memory,
            long requested,
            long rounded,
            long limit,
            long inUse,
            long held,
            long largestFree,
            long deviceFree,
            String limitedBy)
            implements Serializable {

        /**
         * Makes the shortage of a request that no budget rejected; the figures are those of the record.
         *
         * @param memory the memory that ran out
         * @param requested the requested size
         * @param rounded the size that would have been allocated
         * @param limit the limit of {@code held}
         * @param inUse the bytes of live blocks
         * @param held the bytes taken from the device
         * @param largestFree the largest free chunk that the requester could use
         * @param deviceFree the bytes free on the device
         */
        public Shortage(
                MemoryInfo memory,
                long requested,
                long rounded,
                long limit,
                long inUse,
                long held,
                long largestFree,
                long deviceFree) {
            this(memory, requested, rounded, limit, inUse, held, largestFree, deviceFree, "");
        }

        /**
         * {@return the shortage of a budget}
         *
         * @param memory the memory that was requested
         * @param requested the requested size
         * @param budget the budget that rejected the request, such as {@code the budget of two}
         * @param limit its limit; {@link AllocatorStats#UNLIMITED} if it has none
         * @param charged what is charged to it
         */
        public static Shortage ofBudget(MemoryInfo memory, long requested, String budget, long limit, long charged) {
            return new Shortage(memory, requested, requested, limit, charged, UNKNOWN, UNKNOWN, UNKNOWN, budget);
        }

        /**
         * {@return the shortage of a device to which no limit applies, and of which only the request and what is free
         * are known, as a raw device allocator reports it}
         *
         * @param memory the memory that ran out
         * @param requested the requested size
         * @param deviceFree the bytes free on the device, or {@link OutOfMemoryException#UNKNOWN}
         */
        public static Shortage ofDevice(MemoryInfo memory, long requested, long deviceFree) {
            return new Shortage(
                    memory, requested, requested, AllocatorStats.UNLIMITED, UNKNOWN, UNKNOWN, UNKNOWN, deviceFree);
        }

        /** Returns the figures that are known, as the message of the exception has them. */
        @Override
        public String toString() {
            return describe();
        }

        private String describe() {
            final StringBuilder text = new StringBuilder();
            text.append(memory).append(": cannot allocate ").append(ByteSizes.describe(requested));
            if (rounded != requested && rounded != UNKNOWN) {
                text.append(", rounded to ").append(ByteSizes.describe(rounded));
            }
            if (!limitedBy.isEmpty()) {
                append(text, ": ", "charged", inUse);
                append(text, " ", "of", limit);
                return text.toString();
            }
            String separator = ": ";
            separator = append(text, separator, "limit", limit);
            separator = append(text, separator, "in use with rounding", inUse);
            separator = append(text, separator, "held", held);
            separator = append(text, separator, "largest free chunk", largestFree);
            append(text, separator, "device free", deviceFree);
            return text.toString();
        }

        private static String append(StringBuilder text, String separator, String what, long bytes) {
            if (bytes < 0) {
                return separator;
            }
            text.append(separator).append(what).append(' ').append(ByteSizes.describe(bytes));
            return ", ";
        }
    }

    /**
     * Makes the exception.
     *
     * @param reason what failed; begins the message
     * @param shortage the figures
     * @param dump the allocator's state in several lines, empty if there is none
     * @param cause the device's failure, or {@code null}
     */
    public OutOfMemoryException(String reason, Shortage shortage, String dump, @Nullable Throwable cause) {
        super(reason + " [" + shortage.describe() + "]", cause);
        this.shortage = shortage;
        this.dump = dump;
    }

    /**
     * Makes the exception for a device that has no more memory.
     *
     * @param reason what failed; begins the message
     * @param shortage the figures
     */
    public OutOfMemoryException(String reason, Shortage shortage) {
        this(reason, shortage, "", null);
    }

    /** {@return the shortage: the figures of the failure} */
    public Shortage shortage() {
        return shortage;
    }

    /**
     * {@return the allocator's state at the failure, in several lines for a person to read; empty if the allocator has
     * no dump or had no room to make it}
     */
    public String dump() {
        return dump;
    }
}
