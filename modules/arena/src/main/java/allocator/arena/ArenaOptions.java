package allocator.arena;

import allocator.provider.support.Limit;
import allocator.spi.AllocatorOptions;
import allocator.spi.OptionKey;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** The option keys of an arena: those of ONNX Runtime with its names, meanings (O-07) and defaults, and more. */
public final class ArenaOptions {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;

    /** {@code arena.extend_strategy}. */
    public static final OptionKey<ExtendStrategy> EXTEND_STRATEGY = OptionKey.choice(
            "arena.extend_strategy",
            ExtendStrategy.POWER_OF_TWO,
            Map.of(
                    "0", ExtendStrategy.POWER_OF_TWO,
                    "1", ExtendStrategy.SAME_AS_REQUESTED,
                    "kNextPowerOfTwo", ExtendStrategy.POWER_OF_TWO,
                    "kSameAsRequested", ExtendStrategy.SAME_AS_REQUESTED),
            "how the next region is sized: doubled (0) or as large as the request (1)");

    /** {@code arena.initial_chunk_size_bytes}. */
    public static final OptionKey<Long> INITIAL_CHUNK_SIZE_BYTES =
            OptionKey.size("arena.initial_chunk_size_bytes", MIB, "size of the first region when doubling");

    /** {@code arena.max_dead_bytes_per_chunk}. */
    public static final OptionKey<Long> MAX_DEAD_BYTES_PER_CHUNK =
            OptionKey.size("arena.max_dead_bytes_per_chunk", 128 * MIB, "the excess at which a chunk is always split");

    /** {@code arena.initial_growth_chunk_size_bytes}. */
    public static final OptionKey<Long> INITIAL_GROWTH_CHUNK_SIZE_BYTES = OptionKey.size(
            "arena.initial_growth_chunk_size_bytes", 2 * MIB, "size of the next region after a shrink when doubling");

    /** {@code arena.max_power_of_two_extend_bytes}. */
    public static final OptionKey<Long> MAX_POWER_OF_TWO_EXTEND_BYTES =
            OptionKey.size("arena.max_power_of_two_extend_bytes", 1024 * MIB, "the size at which doubling stops");

    /** {@code arena.max_mem}. */
    public static final OptionKey<Long> MAX_MEM = Limit.KEY;

    /** {@code arena.policy}; not an option of ONNX Runtime. */
    public static final OptionKey<PlacementPolicy> POLICY = OptionKey.choice(
            "arena.policy",
            PlacementPolicy.BEST_FIT,
            Map.of(
                    "best-fit", PlacementPolicy.BEST_FIT,
                    "slabs", PlacementPolicy.SLABS,
                    "compact", PlacementPolicy.COMPACT),
            Map.of("quick-fit", "slabs"),
            "which free memory serves a request: the best fit, as in ONNX Runtime (best-fit), for up to 64 KiB a "
                    + "unit of a slab (slabs), or the best fit on pages that are mapped where they are "
                    + "needed (compact)");

    /** {@code arena.slack_percent}; not an option of ONNX Runtime. */
    public static final OptionKey<Integer> SLACK_PERCENT = OptionKey.count(
            "arena.slack_percent",
            4,
            "by how many percent compact may hold more than has been in use at once, before it maps idle pages "
                    + "elsewhere");

    /** {@code arena.extent_divisor}; not an option of ONNX Runtime. */
    public static final OptionKey<Integer> EXTENT_DIVISOR = OptionKey.count(
            "arena.extent_divisor",
            48,
            "compact creates pages in extents of at most this part of what has been in use at once, or of five pages "
                    + "where that is more: a greater number takes more calls of the device and may hold less; 0 is 1");

    /** {@code arena.allocations_per_move}; not an option of ONNX Runtime. */
    public static final OptionKey<Integer> ALLOCATIONS_PER_MOVE = OptionKey.count(
            "arena.allocations_per_move",
            1000,
            "how many allocations allow compact one move of idle pages; where it moves more often, the slack is "
                    + "twice as wide; 0 is no bound");

    /** {@code arena.plan}; not an option of ONNX Runtime. */
    public static final OptionKey<List<String>> PLAN = OptionKey.list(
            "arena.plan",
            Pattern.compile("[^;]*(/|\\\\|\\.\\p{Alpha})[^;]*"), // no number, which would be a mistake
            "a list of names of CSV files with plans, each with a slash or an extension, separated by semicolons",
            "files with plans, as allocator plan writes them: allocations that come in a plan's order with its sizes "
                    + "get its offsets in one region, without a search");

    /** {@code arena.max_lanes}; not an option of ONNX Runtime. */
    public static final OptionKey<Integer> MAX_LANES = OptionKey.count(
            "arena.max_lanes",
            0,
            "the most lanes, each with its own lock, that the arena may divide into when threads contend; 1 is "
                    + "no division, 0 is one more than there are processors");

    /**
     * {@code arena.keep_first_region}; not an option of ONNX Runtime. On by default, as in ONNX Runtime's core; see
     * {@link #keepFirstRegion} for providers whose default is another one.
     */
    public static final OptionKey<Boolean> KEEP_FIRST_REGION = keepFirstRegion(true);

    /** All keys. */
    public static final List<OptionKey<?>> KEYS = List.of(
            EXTEND_STRATEGY,
            INITIAL_CHUNK_SIZE_BYTES,
            MAX_DEAD_BYTES_PER_CHUNK,
            INITIAL_GROWTH_CHUNK_SIZE_BYTES,
            MAX_POWER_OF_TWO_EXTEND_BYTES,
            MAX_MEM,
            POLICY,
            MAX_LANES,
            KEEP_FIRST_REGION,
            SLACK_PERCENT,
            EXTENT_DIVISOR,
            ALLOCATIONS_PER_MOVE,
            PLAN);

    /** What only pages use. */
    private static final Set<String> OF_PAGES =
            Set.of(SLACK_PERCENT.name(), EXTENT_DIVISOR.name(), ALLOCATIONS_PER_MOVE.name());

    /** What only regions use. */
    private static final Set<String> OF_REGIONS = Set.of(EXTEND_STRATEGY.name(), MAX_DEAD_BYTES_PER_CHUNK.name());

    /** What only doubling uses. */
    private static final Set<String> OF_DOUBLING = Set.of(
            INITIAL_CHUNK_SIZE_BYTES.name(),
            INITIAL_GROWTH_CHUNK_SIZE_BYTES.name(),
            MAX_POWER_OF_TWO_EXTEND_BYTES.name(),
            KEEP_FIRST_REGION.name());

    private ArenaOptions() {}

    /**
     * {@return the key {@code arena.keep_first_region} with a default of a provider's own: ONNX Runtime's core keeps
     * the first region of a doubling arena, its CUDA plug-in does not}
     *
     * @param byDefault whether a shrink keeps the first region unless the key is set
     */
    public static OptionKey<Boolean> keepFirstRegion(boolean byDefault) {
        return OptionKey.flag(
                "arena.keep_first_region",
                byDefault,
                "1: a shrink keeps the first region of a doubling arena; 0: it returns that one too");
    }

    /**
     * {@return the keys of {@code keys} that have an effect in an arena with given settings, in the same order, for
     * {@link AllocatorOptions#resolve}: without {@link #SLACK_PERCENT} unless {@link #POLICY} is compact, and without
     * the keys of regions where it is; without the keys of doubling, {@link #KEEP_FIRST_REGION} among them, where
     * {@link #EXTEND_STRATEGY} does not double} A setting that has no effect is not among the effective options.
     *
     * @param keys the keys that a provider has; those that are not of this class are kept
     * @param requested the requested options
     * @throws allocator.spi.InvalidOptionException if the value of a key that decides is invalid
     */
    public static List<OptionKey<?>> applicable(Collection<? extends OptionKey<?>> keys, AllocatorOptions requested) {
        final boolean hasPages = requested.get(POLICY) == PlacementPolicy.COMPACT;
        final boolean doubles = !hasPages && requested.get(EXTEND_STRATEGY) == ExtendStrategy.POWER_OF_TWO;
        return keys.stream()
                .filter(key -> hasPages || !OF_PAGES.contains(key.name()))
                .filter(key -> !hasPages || !OF_REGIONS.contains(key.name()))
                .filter(key -> doubles || !OF_DOUBLING.contains(key.name()))
                .<OptionKey<?>>map(key -> key)
                .toList();
    }

    /**
     * {@return the keys of {@code keys} that have an effect in an arena with given settings, in the same order: without
     * {@link #PLAN} if plans are requested that are not followed}
     *
     * @param keys the keys that a provider has; those that are not of this class are kept
     * @param requested the requested options
     * @param hasPlans whether plans are followed
     * @throws allocator.spi.InvalidOptionException if the value of a key that decides is invalid
     */
    public static List<OptionKey<?>> applicable(
            Collection<? extends OptionKey<?>> keys, AllocatorOptions requested, boolean hasPlans) {
        final boolean isPlanServed = hasPlans || requested.get(PLAN).isEmpty();
        return applicable(keys, requested).stream()
                .filter(key -> isPlanServed || !key.equals(PLAN))
                .<OptionKey<?>>map(key -> key)
                .toList();
    }

    /**
     * {@return settings that need no pages, for memory that cannot be mapped page by page, or not within the limit:
     * with the best fit where {@link #POLICY} is compact} The effective options then say so.
     *
     * @param requested the requested options
     * @throws allocator.spi.InvalidOptionException if the policy is invalid
     */
    public static AllocatorOptions withoutPages(AllocatorOptions requested) {
        return requested.get(POLICY) == PlacementPolicy.COMPACT
                ? requested.served(
                        POLICY, PlacementPolicy.BEST_FIT, "needs memory by the page, and a limit of a page at least")
                : requested;
    }
}
