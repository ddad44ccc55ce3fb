package allocator.arena.compact;

import allocator.arena.chunk.Region;

/**
 * The configuration of a {@link CompactArena}.
 *
 * @param maxMem the most bytes of pages; {@code 0} for no limit
 * @param slack the part by which the arena may hold more than has been in use at once, before it maps idle pages
 *     elsewhere; from 0 to 1
 * @param addressBytes the length of the range of addresses in bytes, which limits what can be live at once
 */
public record CompactConfig(long maxMem, double slack, long addressBytes) {
    /** The slack that {@code arena.compact_slack} has by default. */
    public static final double DEFAULT_SLACK = 0.04;

    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if a component is out of its range
     */
    public CompactConfig {
        if (maxMem < 0) {
            throw new IllegalArgumentException("maxMem is " + maxMem + ", it must not be negative");
        }
        if (!(slack >= 0 && slack <= 1)) {
            throw new IllegalArgumentException("slack is " + slack + ", it must be from 0 to 1");
        }
        if (addressBytes <= 0 || addressBytes > Region.MAX_BYTES) {
            throw new IllegalArgumentException(
                    "addressBytes is " + addressBytes + ", it must be from 1 to " + Region.MAX_BYTES);
        }
    }

    /** Throws if this configuration is impossible with pages of a size. */
    void requireFits(long pageBytes) {
        if (maxMem > 0 && maxMem < pageBytes) {
            throw new IllegalArgumentException("maxMem is " + maxMem + ", which is less than a page of " + pageBytes);
        }
        if (addressBytes % pageBytes != 0 || addressBytes / pageBytes >= Integer.MAX_VALUE / 2) {
            throw new IllegalArgumentException("addressBytes is " + addressBytes
                    + ", which is no multiple of a page of " + pageBytes + ", or too many of them");
        }
    }
}
