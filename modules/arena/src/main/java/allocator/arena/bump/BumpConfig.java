package allocator.arena.bump;

import allocator.arena.ArenaOptions;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.OptionKey;

/**
 * The sizes of a bump arena's regions.
 *
 * @param initialBytes size of the first region, from 1 to {@link OptionKey#MAX_SIZE}
 * @param growthBytes least size of every further region, up to {@link OptionKey#MAX_SIZE}; {@code 0} for an arena that
 *     does not grow
 * @param maxBytes limit of the sum of all regions, {@code 0} for no limit
 */
public record BumpConfig(long initialBytes, long growthBytes, long maxBytes) {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if a size is out of range, or the first region exceeds the limit
     */
    public BumpConfig {
        if (initialBytes < 1 || initialBytes > OptionKey.MAX_SIZE) {
            throw new IllegalArgumentException(
                    "initialBytes is " + initialBytes + ", it must be from 1 to " + OptionKey.MAX_SIZE);
        }
        if (growthBytes < 0 || growthBytes > OptionKey.MAX_SIZE) {
            throw new IllegalArgumentException(
                    "growthBytes is " + growthBytes + ", it must be from 0 to " + OptionKey.MAX_SIZE);
        }
        if (initialBytes > new Limit(maxBytes).available(0)) {
            throw new IllegalArgumentException("maxBytes is " + maxBytes + ", it must be 0 or at least the "
                    + initialBytes + " of the first region");
        }
    }

    /**
     * Reads {@link ArenaOptions#INITIAL_CHUNK_SIZE_BYTES}, {@link ArenaOptions#INITIAL_GROWTH_CHUNK_SIZE_BYTES} and
     * {@link BumpOptions#BUMP_MAX_MEM}. The caller validates all other keys.
     *
     * @param options the user's settings
     * @return the configuration; the first region is cut to the limit
     * @throws allocator.spi.InvalidOptionException if a value is invalid
     */
    public static BumpConfig from(AllocatorOptions options) {
        final long maxBytes = options.get(BumpOptions.BUMP_MAX_MEM);
        final long initialBytes = options.get(ArenaOptions.INITIAL_CHUNK_SIZE_BYTES);
        return new BumpConfig(
                Math.min(initialBytes, new Limit(maxBytes).available(0)),
                options.get(ArenaOptions.INITIAL_GROWTH_CHUNK_SIZE_BYTES),
                maxBytes);
    }

    /**
     * {@return the configuration of an arena with a single region}
     *
     * @param byteSize size of the region in bytes
     */
    public static BumpConfig fixed(long byteSize) {
        return new BumpConfig(byteSize, 0, 0);
    }

    /**
     * {@return the configuration of an arena that grows without limit, by regions of one size} A larger request gets a
     * region of its size.
     *
     * @param byteSize size of a region in bytes
     */
    public static BumpConfig growing(long byteSize) {
        return new BumpConfig(byteSize, byteSize, 0);
    }

    Limit limit() {
        return new Limit(maxBytes);
    }

    /**
     * Returns the size of the next region of a chain.
     *
     * @param least what the region must hold at least
     * @param chained the sum of the regions that the chain has
     * @param available what another limit leaves
     * @return from {@code least} to {@code available} bytes; {@code 0} if the chain may not grow by {@code least}
     */
    long nextRegionBytes(long least, long chained, long available) {
        final boolean isFirst = chained == 0;
        final long left = Math.min(available, limit().available(chained));
        if (least > left || (growthBytes == 0 && !isFirst)) {
            return 0;
        }
        return Math.min(Math.max(least, isFirst ? initialBytes : growthBytes), left);
    }
}
