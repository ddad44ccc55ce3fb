package allocator.provider.support;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OptionKey;

/**
 * An upper bound on bytes, in the form in which options state it: {@code 0} means no limit. The limit of what an
 * allocator may hold is the option {@code arena.max_mem}.
 *
 * @param bytes the bound in bytes, {@code 0} for no limit
 */
public record Limit(long bytes) {
    /** No limit. */
    public static final Limit NONE = new Limit(0);

    /** {@code arena.max_mem}: bytes, {@code 0} for no limit. */
    public static final OptionKey<Long> KEY = key("the most that the allocator may hold, reserves included");

    /**
     * Checks the bound.
     *
     * @throws IllegalArgumentException if {@code bytes} is negative
     */
    public Limit {
        if (bytes < 0) {
            throw new IllegalArgumentException("a limit of " + bytes + " bytes; it must not be negative");
        }
    }

    /**
     * Returns {@code arena.max_mem} with a description of its own, for an allocator that limits something else.
     *
     * @param what what is limited
     * @return the key; otherwise as {@link #KEY}
     */
    public static OptionKey<Long> key(String what) {
        return OptionKey.limit("arena.max_mem", what);
    }

    /**
     * Reads {@link #KEY}.
     *
     * @param options the options
     * @return the limit
     * @throws allocator.spi.InvalidOptionException if the value is not accepted
     */
    public static Limit from(AllocatorOptions options) {
        return new Limit(options.get(KEY));
    }

    /**
     * Returns whether there is a limit.
     *
     * @return false for {@link #NONE}
     */
    public boolean isLimited() {
        return bytes != 0;
    }

    /**
     * Returns how much more may be held.
     *
     * @param held bytes held, not negative
     * @return bytes; negative if more than the limit is held, and at least {@code Long.MAX_VALUE - held} without a
     *     limit
     */
    public long available(long held) {
        return (isLimited() ? bytes : Long.MAX_VALUE) - held;
    }

    /**
     * Returns the limit as statistics and failures report it.
     *
     * @return bytes, {@link AllocatorStats#UNLIMITED} for none
     */
    public long toStats() {
        return isLimited() ? bytes : AllocatorStats.UNLIMITED;
    }
}
