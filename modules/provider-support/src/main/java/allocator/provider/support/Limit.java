package allocator.provider.support;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OptionKey;

/**
 * The most that an allocator may hold: the option {@code arena.max_mem}, where {@code 0} is no limit.
 *
 * @param bytes the limit in bytes, {@link Long#MAX_VALUE} for none
 */
public record Limit(long bytes) {
    /** No limit. */
    public static final Limit NONE = new Limit(Long.MAX_VALUE);

    /** {@code arena.max_mem}: bytes, {@code 0} for no limit. */
    public static final OptionKey<Long> KEY = OptionKey.bytes(
            "arena.max_mem", 0, "the most that the allocator may hold, reserves included; 0 is no limit");

    /**
     * Creates a limit.
     *
     * @throws IllegalArgumentException if {@code bytes} is negative
     */
    public Limit {
        if (bytes < 0) {
            throw new IllegalArgumentException("a limit of " + bytes + " bytes is negative");
        }
    }

    /**
     * Reads {@link #KEY}.
     *
     * @param options the options
     * @return the limit
     * @throws allocator.spi.InvalidOptionException if the value is not accepted
     */
    public static Limit from(AllocatorOptions options) {
        return ofOption(options.get(KEY));
    }

    /**
     * Returns the limit that a value of {@link #KEY} means.
     *
     * @param bytes the value, {@code 0} for no limit
     * @return the limit
     */
    public static Limit ofOption(long bytes) {
        return bytes == 0 ? NONE : new Limit(bytes);
    }

    /**
     * Returns whether there is a limit.
     *
     * @return false for {@link #NONE}
     */
    public boolean isLimited() {
        return bytes != Long.MAX_VALUE;
    }

    /**
     * Returns the limit as statistics report it.
     *
     * @return bytes, {@link AllocatorStats#UNLIMITED} for none
     */
    public long toStats() {
        return isLimited() ? bytes : AllocatorStats.UNLIMITED;
    }
}
