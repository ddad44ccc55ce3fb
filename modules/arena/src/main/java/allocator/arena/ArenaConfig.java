package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.Objects;

/**
 * The configuration of an arena: its options, typed and checked. Sizes are rounded up to
 * {@link OptionKey#SIZE_GRANULARITY}; limits are not rounded.
 *
 * @param extendStrategy how the arena sizes its next region
 * @param initialChunkBytes size in bytes of the first region under {@link ExtendStrategy#POWER_OF_TWO}
 * @param maxDeadBytesPerChunk excess in bytes at which a chunk is split whatever the size of the request
 * @param initialGrowthChunkBytes size in bytes of the next region after a shrink under
 *     {@link ExtendStrategy#POWER_OF_TWO}
 * @param maxPowerOfTwoExtendBytes size in bytes at which doubling stops; a request that needs a larger region gets it
 * @param maxMem the most bytes that regions and reserves may hold together; {@code 0} for no limit
 * @param placementPolicy which free memory serves a request
 * @param maxLanes the most lanes; {@code 1} for no division, {@code 0} for one more than there are processors
 * @param keepFirstRegion whether a shrink keeps the first region under {@link ExtendStrategy#POWER_OF_TWO}, as ONNX
 *     Runtime's core does and its CUDA plug-in does not
 * @param compact what configures {@link PlacementPolicy#COMPACT} alone
 */
public record ArenaConfig(
        ExtendStrategy extendStrategy,
        long initialChunkBytes,
        long maxDeadBytesPerChunk,
        long initialGrowthChunkBytes,
        long maxPowerOfTwoExtendBytes,
        long maxMem,
        PlacementPolicy placementPolicy,
        int maxLanes,
        boolean keepFirstRegion,
        CompactConfig compact) {

    /** ONNX Runtime's defaults. */
    public static final ArenaConfig DEFAULT = from(AllocatorOptions.EMPTY);

    /**
     * Checks the components and rounds sizes up.
     *
     * @throws IllegalArgumentException if a size is not from 1 to {@link OptionKey#MAX_SIZE}, or another number is
     *     negative
     */
    public ArenaConfig {
        Objects.requireNonNull(extendStrategy, "extendStrategy");
        Objects.requireNonNull(placementPolicy, "placementPolicy");
        Objects.requireNonNull(compact, "compact");
        initialChunkBytes = rounded("initialChunkBytes", initialChunkBytes);
        maxDeadBytesPerChunk = rounded("maxDeadBytesPerChunk", maxDeadBytesPerChunk);
        initialGrowthChunkBytes = rounded("initialGrowthChunkBytes", initialGrowthChunkBytes);
        maxPowerOfTwoExtendBytes = rounded("maxPowerOfTwoExtendBytes", maxPowerOfTwoExtendBytes);
        requireNotNegative("maxMem", maxMem);
        requireNotNegative("maxLanes", maxLanes);
    }

    /**
     * Creates a configuration with {@link CompactConfig#DEFAULT}.
     *
     * @param extendStrategy see {@link #extendStrategy}
     * @param initialChunkBytes see {@link #initialChunkBytes}
     * @param maxDeadBytesPerChunk see {@link #maxDeadBytesPerChunk}
     * @param initialGrowthChunkBytes see {@link #initialGrowthChunkBytes}
     * @param maxPowerOfTwoExtendBytes see {@link #maxPowerOfTwoExtendBytes}
     * @param maxMem see {@link #maxMem}
     * @param placementPolicy see {@link #placementPolicy}
     * @param maxLanes see {@link #maxLanes}
     * @param keepFirstRegion see {@link #keepFirstRegion}
     */
    public ArenaConfig(
            ExtendStrategy extendStrategy,
            long initialChunkBytes,
            long maxDeadBytesPerChunk,
            long initialGrowthChunkBytes,
            long maxPowerOfTwoExtendBytes,
            long maxMem,
            PlacementPolicy placementPolicy,
            int maxLanes,
            boolean keepFirstRegion) {
        this(
                extendStrategy,
                initialChunkBytes,
                maxDeadBytesPerChunk,
                initialGrowthChunkBytes,
                maxPowerOfTwoExtendBytes,
                maxMem,
                placementPolicy,
                maxLanes,
                keepFirstRegion,
                CompactConfig.DEFAULT);
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
        return Granules.roundUp(byteSize);
    }

    /**
     * Reads the keys of {@link ArenaOptions}. Ignores other keys, which the caller checks.
     *
     * @param options the requested options
     * @return the configuration
     * @throws InvalidOptionException if a value is invalid
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
                options.get(ArenaOptions.MAX_LANES),
                options.get(ArenaOptions.KEEP_FIRST_REGION),
                CompactConfig.from(options));
    }

    /**
     * {@return this configuration with another placement policy}
     *
     * @param policy the policy
     */
    public ArenaConfig withPlacementPolicy(PlacementPolicy policy) {
        return with(policy, keepFirstRegion);
    }

    /**
     * {@return this configuration with {@link #keepFirstRegion} replaced}
     *
     * @param keep whether a shrink keeps the first region
     */
    public ArenaConfig withKeepFirstRegion(boolean keep) {
        return with(placementPolicy, keep);
    }

    private ArenaConfig with(PlacementPolicy policy, boolean keep) {
        return new ArenaConfig(
                extendStrategy,
                initialChunkBytes,
                maxDeadBytesPerChunk,
                initialGrowthChunkBytes,
                maxPowerOfTwoExtendBytes,
                maxMem,
                policy,
                maxLanes,
                keep,
                compact);
    }

    /** Returns what {@link #maxMem} allows. */
    Limit limit() {
        return new Limit(maxMem);
    }
}
