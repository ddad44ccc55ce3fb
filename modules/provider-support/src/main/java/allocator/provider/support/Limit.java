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
     * {@return {@code arena.max_mem}, as {@link #KEY} but with a description of its own, for an allocator that limits
     * something else}
     *
     * @param what what is limited
     */
    public static OptionKey<Long> key(String what) {
        return OptionKey.limit("arena.max_mem", what);
    }

    /**
     * {@return the limit that {@link #KEY} sets}
     *
     * @param options the options
     * @throws allocator.spi.InvalidOptionException if the value is not accepted
     */
    public static Limit from(AllocatorOptions options) {
        return new Limit(options.get(KEY));
    }

    /** {@return whether there is a limit} */
    public boolean isLimited() {
        return bytes != 0;
    }

    /**
     * {@return how many bytes more may be held; negative if more than the limit is held, and at least
     * {@code Long.MAX_VALUE - held} without a limit}
     *
     * @param held bytes held, not negative
     */
    public long available(long held) {
        return (isLimited() ? bytes : Long.MAX_VALUE) - held;
    }

    /** {@return the limit as statistics and failures report it, {@link AllocatorStats#UNLIMITED} for none} */
    public long toStats() {
        return isLimited() ? bytes : AllocatorStats.UNLIMITED;
    }
}
