package allocator.arena;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;

/**
 * What configures an arena on pages alone ({@link PlacementPolicy#COMPACT}).
 *
 * @param slackPercent by how many percent pages may exceed what has been in use at once, before idle pages are mapped
 *     elsewhere instead of creating more; {@code 0} to move idle pages first
 */
public record CompactConfig(int slackPercent) {
    /** The default of each key. */
    public static final CompactConfig DEFAULT = from(AllocatorOptions.EMPTY);

    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if a number is negative
     */
    public CompactConfig {
        if (slackPercent < 0) {
            throw new IllegalArgumentException("slackPercent is " + slackPercent + ", it must not be negative");
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
        return new CompactConfig(options.get(ArenaOptions.SLACK_PERCENT));
    }
}
