package allocator.arena;

import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.Objects;

/**
 * The settings of an arena. Sizes are rounded up to {@link OptionKey#SIZE_GRANULARITY}; limits are taken as they are.
 *
 * @param extendStrategy how large the next region is
 * @param initialChunkBytes size of the first region that {@link ExtendStrategy#POWER_OF_TWO} asks for
 * @param maxDeadBytesPerChunk the excess from which on a chunk is always split, whatever the size of the request
 * @param initialGrowthChunkBytes size of the region that {@link ExtendStrategy#POWER_OF_TWO} asks for after a shrink
 * @param maxPowerOfTwoExtendBytes where doubling ends; a single request may still be larger
 * @param maxMem the most that regions, reserves and what is being asked for may come to; {@code 0} is no limit
 * @param placementPolicy which free memory serves a request
 * @param maxKeptBytes the most that {@link PlacementPolicy#QUICK_FIT} keeps without merging it; {@code 0} is an eighth
 *     of the regions
 * @param maxLanes into how many lanes the arena may divide when threads meet; {@code 1} is never, {@code 0} is one more
 *     than there are processors
 * @param keepFirstRegion whether a shrink keeps the first region under {@link ExtendStrategy#POWER_OF_TWO}, as ONNX
 *     Runtime's core does and its CUDA plug-in does not
 */
public record ArenaConfig(
        ExtendStrategy extendStrategy,
        long initialChunkBytes,
        long maxDeadBytesPerChunk,
        long initialGrowthChunkBytes,
        long maxPowerOfTwoExtendBytes,
        long maxMem,
        PlacementPolicy placementPolicy,
        long maxKeptBytes,
        int maxLanes,
        boolean keepFirstRegion) {

    /** ONNX Runtime's defaults. */
    public static final ArenaConfig DEFAULT = from(AllocatorOptions.EMPTY);

    /**
     * Checks the components and rounds the sizes up.
     *
     * @throws IllegalArgumentException if a size is not from 1 to {@link OptionKey#MAX_SIZE}, or another number is
     *     negative
     */
    public ArenaConfig {
        Objects.requireNonNull(extendStrategy, "extendStrategy");
        Objects.requireNonNull(placementPolicy, "placementPolicy");
        initialChunkBytes = rounded("initialChunkBytes", initialChunkBytes);
        maxDeadBytesPerChunk = rounded("maxDeadBytesPerChunk", maxDeadBytesPerChunk);
        initialGrowthChunkBytes = rounded("initialGrowthChunkBytes", initialGrowthChunkBytes);
        maxPowerOfTwoExtendBytes = rounded("maxPowerOfTwoExtendBytes", maxPowerOfTwoExtendBytes);
        requireNotNegative("maxMem", maxMem);
        requireNotNegative("maxKeptBytes", maxKeptBytes);
        requireNotNegative("maxLanes", maxLanes);
    }

    private static void requireNotNegative(String name, long value) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " is " + value + ", it must not be negative");
        }
    }

    private static long rounded(String name, long byteSize) {
        if (byteSize < 1 || byteSize > OptionKey.MAX_SIZE) {
            throw new IllegalArgumentException(
                    name + " is " + byteSize + ", it must be from 1 to " + OptionKey.MAX_SIZE);
        }
        return Units.roundUp(byteSize);
    }

    /**
     * Reads the keys of {@link ArenaOptions}; other keys are left to the caller to check.
     *
     * @param options the settings asked for
     * @return the configuration, with {@link #keepFirstRegion} set
     * @throws InvalidOptionException if a value is not accepted
     */
    public static ArenaConfig from(AllocatorOptions options) {
        return new ArenaConfig(
                options.get(ArenaOptions.EXTEND_STRATEGY),
                options.get(ArenaOptions.INITIAL_CHUNK_SIZE_BYTES),
                options.get(ArenaOptions.MAX_DEAD_BYTES_PER_CHUNK),
                options.get(ArenaOptions.INITIAL_GROWTH_CHUNK_SIZE_BYTES),
                options.get(ArenaOptions.MAX_POWER_OF_TWO_EXTEND_BYTES),
                options.get(ArenaOptions.MAX_MEM),
                options.get(ArenaOptions.POLICY),
                options.get(ArenaOptions.MAX_KEPT_BYTES),
                options.get(ArenaOptions.MAX_LANES),
                true);
    }

    /**
     * This configuration with another rule for the first region.
     *
     * @param keep whether a shrink keeps it
     * @return the configuration
     */
    public ArenaConfig withKeepFirstRegion(boolean keep) {
        return new ArenaConfig(
                extendStrategy,
                initialChunkBytes,
                maxDeadBytesPerChunk,
                initialGrowthChunkBytes,
                maxPowerOfTwoExtendBytes,
                maxMem,
                placementPolicy,
                maxKeptBytes,
                maxLanes,
                keep);
    }

    /** The limit as a number that can be subtracted from. */
    long limit() {
        return maxMem == 0 ? Long.MAX_VALUE : maxMem;
    }
}
