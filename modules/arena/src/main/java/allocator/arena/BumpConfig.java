package allocator.arena;

import allocator.spi.AllocatorOptions;
import allocator.spi.OptionKey;

/**
 * How a bump arena takes memory from its upstream allocator.
 *
 * @param initialBytes size of the first region, from 1 to {@link OptionKey#MAX_SIZE}
 * @param growthBytes least size of every further region; {@code 0} for an arena that does not grow
 * @param maxBytes the most that all regions may come to; {@code 0} is no limit
 */
public record BumpConfig(long initialBytes, long growthBytes, long maxBytes) {
    /**
     * Checks the components.
     *
     * @throws IllegalArgumentException if a size is out of range, or the first region is above the limit
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
        if (maxBytes < 0 || (maxBytes > 0 && maxBytes < initialBytes)) {
            throw new IllegalArgumentException("maxBytes is " + maxBytes + ", it must be 0 or at least the "
                    + initialBytes + " of the first region");
        }
    }

    /**
     * Reads {@link ArenaOptions#INITIAL_CHUNK_SIZE_BYTES}, {@link ArenaOptions#INITIAL_GROWTH_CHUNK_SIZE_BYTES} and
     * {@link BumpOptions#BUMP_MAX_MEM}; other keys are left to the caller to check.
     *
     * @param options the settings asked for
     * @return the configuration; its first region is not above the most that all may come to
     * @throws allocator.spi.InvalidOptionException if a value is not accepted
     */
    public static BumpConfig from(AllocatorOptions options) {
        final long most = options.get(BumpOptions.BUMP_MAX_MEM);
        final long initial = options.get(ArenaOptions.INITIAL_CHUNK_SIZE_BYTES);
        return new BumpConfig(
                most == 0 ? initial : Math.min(initial, most),
                options.get(ArenaOptions.INITIAL_GROWTH_CHUNK_SIZE_BYTES),
                most);
    }

    /**
     * One region and no more.
     *
     * @param byteSize its size in bytes
     * @return the configuration
     */
    public static BumpConfig fixed(long byteSize) {
        return new BumpConfig(byteSize, 0, 0);
    }

    /**
     * As many regions as needed, of the same size or as large as a request.
     *
     * @param byteSize the size in bytes
     * @return the configuration
     */
    public static BumpConfig growing(long byteSize) {
        return new BumpConfig(byteSize, byteSize, 0);
    }
}
