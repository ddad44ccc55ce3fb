package exam.tlsf;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.OptionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The options, parsed. The keys that ONNX Runtime has mean what they mean there.
 *
 * @param limit the most that may be held, 0 for no limit
 * @param isDoubling whether each region is twice as large as the one before
 * @param firstRegion size of the first region
 * @param regionAfterShrink size of the next region after a shrink
 * @param largestRegion where doubling ends
 * @param maxDead a chunk with this much left over is always split
 * @param keepsFirst whether a shrink holds the first region
 * @param given the options as given
 */
record Settings(
        long limit,
        boolean isDoubling,
        long firstRegion,
        long regionAfterShrink,
        long largestRegion,
        long maxDead,
        boolean keepsFirst,
        AllocatorOptions given) {
    private static final OptionKey<Long> LIMIT =
            OptionKey.bytes("arena.max_mem", 0, "the most that the allocator may hold; 0 is no limit");
    private static final OptionKey<Integer> STRATEGY = OptionKey.choice(
            "arena.extend_strategy", 0, Map.of("0", 0, "1", 1), "0: regions double; 1: as large as the request");
    private static final OptionKey<Long> FIRST =
            OptionKey.size("arena.initial_chunk_size_bytes", 1 << 20, "size of the first region");
    private static final OptionKey<Long> AFTER_SHRINK =
            OptionKey.size("arena.initial_growth_chunk_size_bytes", 2 << 20, "size of the next region after a shrink");
    private static final OptionKey<Long> LARGEST =
            OptionKey.size("arena.max_power_of_two_extend_bytes", 1 << 30, "the size at which doubling ends");
    private static final OptionKey<Long> MAX_DEAD =
            OptionKey.size("arena.max_dead_bytes_per_chunk", 128 << 20, "a chunk with this excess is always split");
    private static final OptionKey<Boolean> KEEP_FIRST =
            OptionKey.flag("tlsf.keep_first_region", true, "1: a shrink holds the first region");

    static final List<OptionKey<?>> KEYS =
            List.of(LIMIT, OptionKey.EXCLUSIVE, STRATEGY, FIRST, AFTER_SHRINK, LARGEST, MAX_DEAD, KEEP_FIRST);

    private static final List<OptionKey<?>> DOUBLING_ONLY = List.of(FIRST, AFTER_SHRINK, LARGEST, KEEP_FIRST);

    static Settings of(AllocatorOptions options) {
        return new Settings(
                options.get(LIMIT),
                options.get(STRATEGY) == 0,
                options.get(FIRST),
                options.get(AFTER_SHRINK),
                options.get(LARGEST),
                options.get(MAX_DEAD),
                options.get(KEEP_FIRST) && options.get(STRATEGY) == 0,
                options);
    }

    /** Returns the limit as statistics state it. */
    long statedLimit() {
        return limit == 0 ? AllocatorStats.UNLIMITED : limit;
    }

    /** Returns how much more may be held. */
    long room(long held) {
        return limit == 0 ? Long.MAX_VALUE - held : limit - held;
    }

    /** Returns what is effective in an arena. */
    AllocatorOptions effectiveInArena() {
        final List<OptionKey<?>> keys = new ArrayList<>(KEYS);
        if (!isDoubling) {
            keys.removeAll(DOUBLING_ONLY);
        }
        return given.resolve(keys);
    }

    /** Returns what is effective without an arena; every such allocator is the user's own. */
    AllocatorOptions effectiveForWeights() {
        return given.resolve(List.of(LIMIT, OptionKey.EXCLUSIVE));
    }
}
