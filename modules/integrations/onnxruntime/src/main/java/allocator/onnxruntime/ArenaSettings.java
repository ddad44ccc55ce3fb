package allocator.onnxruntime;

import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Settings of ONNX Runtime's own arena. They are checked here because ONNX Runtime does not check them: a size of zero
 * hangs it, a size that is no multiple of 256 makes it leak, and a size above 2<sup>31</sup>-1 is truncated.
 *
 * @param maxMemory the most that its regions may take from the system, 0 for no limit; the option
 *     {@code arena.max_mem}. ONNX Runtime does not count reserves against it
 * @param strategy how it grows
 * @param initialChunkBytes size of its first region
 * @param maxDeadBytesPerChunk a chunk that exceeds the request by less than this is not split, unless it is twice as
 *     large
 * @param initialGrowthChunkBytes size of the region after a shrink
 * @param maxPowerOfTwoExtendBytes the size at which regions stop doubling
 */
public record ArenaSettings(
        long maxMemory,
        ExtendStrategy strategy,
        long initialChunkBytes,
        long maxDeadBytesPerChunk,
        long initialGrowthChunkBytes,
        long maxPowerOfTwoExtendBytes) {

    /** How ONNX Runtime's arena grows. */
    public enum ExtendStrategy {
        /** Each region is twice as large as the one before. */
        NEXT_POWER_OF_TWO,
        /** Each region is as large as the request that needed it. */
        SAME_AS_REQUESTED
    }

    /** ONNX Runtime keeps these sizes in an {@code int}. */
    private static final long MAX_INT_SIZE =
            Integer.MAX_VALUE / OptionKey.SIZE_GRANULARITY * OptionKey.SIZE_GRANULARITY;

    /** The key of {@link #maxMemory}. */
    public static final OptionKey<Long> MAX_MEM =
            Limit.key("the most that the arena's regions may take; reserves are not counted");

    /** The key of {@link #strategy}. */
    public static final OptionKey<ExtendStrategy> EXTEND_STRATEGY = OptionKey.choice(
            "arena.extend_strategy",
            ExtendStrategy.NEXT_POWER_OF_TWO,
            Map.of("0", ExtendStrategy.NEXT_POWER_OF_TWO, "1", ExtendStrategy.SAME_AS_REQUESTED),
            "0: regions double; 1: regions are as large as the request");

    /** The key of {@link #initialChunkBytes}. */
    public static final OptionKey<Long> INITIAL_CHUNK =
            OptionKey.size("arena.initial_chunk_size_bytes", 1 << 20, MAX_INT_SIZE, "size of the first region");

    /** The key of {@link #maxDeadBytesPerChunk}. */
    public static final OptionKey<Long> MAX_DEAD_BYTES = OptionKey.size(
            "arena.max_dead_bytes_per_chunk",
            128 << 20,
            MAX_INT_SIZE,
            "the most that is wasted in a chunk that is not split");

    /** The key of {@link #initialGrowthChunkBytes}. */
    public static final OptionKey<Long> INITIAL_GROWTH_CHUNK = OptionKey.size(
            "arena.initial_growth_chunk_size_bytes", 2 << 20, MAX_INT_SIZE, "size of the region after a shrink");

    /** The key of {@link #maxPowerOfTwoExtendBytes}. */
    public static final OptionKey<Long> MAX_POWER_OF_TWO_EXTEND =
            OptionKey.size("arena.max_power_of_two_extend_bytes", 1 << 30, "the size at which regions stop doubling");

    /** ONNX Runtime's defaults. */
    public static final ArenaSettings DEFAULT = from(AllocatorOptions.EMPTY);

    /** Checks the values. */
    public ArenaSettings {
        if (maxMemory < 0) {
            throw new IllegalArgumentException("maxMemory is " + maxMemory + ", it must not be negative");
        }
        requireSize("initialChunkBytes", initialChunkBytes, MAX_INT_SIZE);
        requireSize("maxDeadBytesPerChunk", maxDeadBytesPerChunk, MAX_INT_SIZE);
        requireSize("initialGrowthChunkBytes", initialGrowthChunkBytes, MAX_INT_SIZE);
        requireSize("maxPowerOfTwoExtendBytes", maxPowerOfTwoExtendBytes, Long.MAX_VALUE);
    }

    private static void requireSize(String name, long value, long max) {
        if (value <= 0 || value > max || value % OptionKey.SIZE_GRANULARITY != 0) {
            throw new IllegalArgumentException(name + " is " + value + ", it must be a multiple of "
                    + OptionKey.SIZE_GRANULARITY + " from " + OptionKey.SIZE_GRANULARITY + " to " + max);
        }
    }

    /** Returns the keys that have no effect beside others: the sizes of doubling where nothing doubles (O-05). */
    static List<OptionKey<?>> withoutEffect(AllocatorOptions options) {
        return options.get(EXTEND_STRATEGY) == ExtendStrategy.NEXT_POWER_OF_TWO
                ? List.of()
                : List.of(INITIAL_CHUNK, INITIAL_GROWTH_CHUNK, MAX_POWER_OF_TWO_EXTEND);
    }

    /** {@return the option keys of these settings, with ONNX Runtime's names and defaults} */
    public static List<OptionKey<?>> optionKeys() {
        return List.of(
                MAX_MEM, EXTEND_STRATEGY, INITIAL_CHUNK, MAX_DEAD_BYTES, INITIAL_GROWTH_CHUNK, MAX_POWER_OF_TWO_EXTEND);
    }

    /**
     * Reads the settings. Sizes are rounded up to a multiple of 256.
     *
     * @param options the options; other keys are ignored
     * @return the settings
     * @throws InvalidOptionException if a value is not accepted
     */
    public static ArenaSettings from(AllocatorOptions options) {
        return new ArenaSettings(
                options.get(MAX_MEM),
                options.get(EXTEND_STRATEGY),
                options.get(INITIAL_CHUNK),
                options.get(MAX_DEAD_BYTES),
                options.get(INITIAL_GROWTH_CHUNK),
                options.get(MAX_POWER_OF_TWO_EXTEND));
    }

    /** Returns the same settings under the keys of {@code CreateArenaCfgV2}. */
    Map<String, Long> toCreateArenaCfgV2() {
        final Map<String, Long> map = new LinkedHashMap<>();
        map.put("max_mem", maxMemory);
        map.put("arena_extend_strategy", Long.valueOf(EXTEND_STRATEGY.format(strategy)));
        map.put("initial_chunk_size_bytes", initialChunkBytes);
        map.put("max_dead_bytes_per_chunk", maxDeadBytesPerChunk);
        map.put("initial_growth_chunk_size_bytes", initialGrowthChunkBytes);
        map.put("max_power_of_two_extend_bytes", maxPowerOfTwoExtendBytes);
        return map;
    }
}
