package allocator.spi;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a limit or the device cannot satisfy a request: the only report of exhaustion. Unlike
 * {@link OutOfMemoryError} it is meant to be caught; nothing that was live is lost.
 */
public final class OutOfMemoryException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** Stands for a number that is not known. */
    public static final long UNKNOWN = -1;

    /** The numbers behind the refusal. */
    private final Shortage shortage;

    /** The allocator at the failure. */
    private final String dump;

    /**
     * The numbers behind a refusal. All are bytes; {@link #UNKNOWN} where not known.
     *
     * @param memory the memory that ran out
     * @param requested what was asked for
     * @param rounded what would have been handed out
     * @param limit the most that may be held, {@link AllocatorStats#UNLIMITED} if there is no limit
     * @param inUse what was live to callers
     * @param held what was taken from the device
     * @param largestFree the largest free block that the asker could have had
     * @param deviceFree what the device had free
     */
    public record Shortage(
            MemoryInfo memory,
            long requested,
            long rounded,
            long limit,
            long inUse,
            long held,
            long largestFree,
            long deviceFree)
            implements Serializable {

        /**
         * A shortage of which only the request is known, as a raw device allocator reports it.
         *
         * @param memory the memory that ran out
         * @param requested what was asked for
         * @param deviceFree what the device had free, or {@link OutOfMemoryException#UNKNOWN}
         * @return the shortage
         */
        public static Shortage ofDevice(MemoryInfo memory, long requested, long deviceFree) {
            return new Shortage(
                    memory, requested, requested, AllocatorStats.UNLIMITED, UNKNOWN, UNKNOWN, UNKNOWN, deviceFree);
        }

        private String describe() {
            final StringBuilder text = new StringBuilder();
            text.append(memory).append(": ").append(requested).append(" bytes requested");
            if (rounded != requested) {
                text.append(" (").append(rounded).append(" rounded)");
            }
            append(text, "limit", limit);
            append(text, "in use", inUse);
            append(text, "held", held);
            append(text, "largest free chunk", largestFree);
            append(text, "device free", deviceFree);
            return text.toString();
        }

        private static void append(StringBuilder text, String what, long bytes) {
            if (bytes >= 0) {
                text.append(", ").append(what).append(' ').append(bytes);
            }
        }
    }

    /**
     * Makes the exception.
     *
     * @param reason what could not be done, to begin the message
     * @param shortage the numbers
     * @param dump the allocator's state for a person, empty if there is nothing to say
     * @param cause the device's refusal, or {@code null}
     */
    public OutOfMemoryException(String reason, Shortage shortage, String dump, @Nullable Throwable cause) {
        super(reason + " [" + shortage.describe() + "]", cause);
        this.shortage = shortage;
        this.dump = dump;
    }

    /**
     * Makes the exception for a device that has no more memory.
     *
     * @param reason what could not be done
     * @param shortage the numbers
     */
    public OutOfMemoryException(String reason, Shortage shortage) {
        this(reason, shortage, "", null);
    }

    /**
     * The numbers.
     *
     * @return the shortage
     */
    public Shortage shortage() {
        return shortage;
    }

    /**
     * The allocator's state at the failure, in several lines for a person.
     *
     * @return the dump, empty if the allocator has none
     */
    public String dump() {
        return dump;
    }
}
