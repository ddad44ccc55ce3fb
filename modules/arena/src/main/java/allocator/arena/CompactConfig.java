package allocator.arena;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;

/**
 * What configures an arena on pages alone ({@link PlacementPolicy#COMPACT}).
 *
 * @param slackPercent by how many percent pages may exceed what has been in use at once, before idle pages are mapped
 *     elsewhere instead of creating more; {@code 0} to move idle pages first
 * @param leastSlackPages the slack in pages that there is in any case, as a small arena has few
 * @param extentDivisor pages are created in extents of at most this part of what has been in use at once: larger
 *     extents take fewer calls of the device, smaller ones are more often idle as a whole; above zero
 * @param leastExtentPages the pages that a new extent may have in any case; above zero
 * @param allocationsPerMove how many allocations allow one move of idle pages; where they are moved more often, the
 *     slack is twice as wide. {@code 0} for any number of moves
 */
public record CompactConfig(
        int slackPercent, int leastSlackPages, int extentDivisor, int leastExtentPages, int allocationsPerMove) {
    /** As the numbers of extents, chosen by replays of the traces of real models. */
    private static final int LEAST_SLACK_PAGES = 4;

    private static final int LEAST_EXTENT_PAGES = 5;

    /** The default of each key. */
    public static final CompactConfig DEFAULT = from(AllocatorOptions.EMPTY);

    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if a number is out of its range
     */
    public CompactConfig {
        require("slackPercent", slackPercent, 0);
        require("leastSlackPages", leastSlackPages, 0);
        require("extentDivisor", extentDivisor, 1);
        require("leastExtentPages", leastExtentPages, 1);
        require("allocationsPerMove", allocationsPerMove, 0);
    }

    private static void require(String name, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException(name + " is " + value + ", it must be at least " + least);
        }
    }

    /**
     * Reads the keys of {@link ArenaOptions}. Ignores other keys, which the caller checks.
     *
     * @param options the requested options
     * @return the configuration
     * @throws InvalidOptionException if a value is invalid
     */
    public static CompactConfig from(AllocatorOptions options) {
        return new CompactConfig(
                options.get(ArenaOptions.SLACK_PERCENT),
                LEAST_SLACK_PAGES,
                Math.max(options.get(ArenaOptions.EXTENT_DIVISOR), 1),
                LEAST_EXTENT_PAGES,
                options.get(ArenaOptions.ALLOCATIONS_PER_MOVE));
    }
}
