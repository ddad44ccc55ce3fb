package allocator.arena.bump;

import allocator.arena.ArenaOptions;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.Map;

/** The option keys of a provider that offers bump arenas besides best-fit arenas. */
public final class BumpOptions {
    /** {@code arena.kind}: which kind of arena serves the memory. */
    public static final OptionKey<ArenaKind> KIND = OptionKey.choice(
            "arena.kind",
            ArenaKind.BFC,
            Map.of("bfc", ArenaKind.BFC, "bump", ArenaKind.BUMP),
            "best fit with coalescing (bfc), or bump allocation for memory that is freed together (bump)");

    /** {@code arena.bump_max_mem}: limit of a bump arena's regions in bytes; {@code 0} means {@code arena.max_mem}. */
    public static final OptionKey<Long> BUMP_MAX_MEM = OptionKey.bytes(
            "arena.bump_max_mem",
            0,
            "limit of a bump arena's regions; a request beyond it gets memory of its own; 0 is arena.max_mem");

    /** All keys of this class. */
    public static final List<OptionKey<?>> KEYS = List.of(KIND, BUMP_MAX_MEM);

    /** The keys that have an effect in a bump arena, for {@link allocator.spi.AllocatorOptions#resolve}. */
    public static final List<OptionKey<?>> APPLICABLE = List.of(
            KIND,
            BUMP_MAX_MEM,
            ArenaOptions.INITIAL_CHUNK_SIZE_BYTES,
            ArenaOptions.INITIAL_GROWTH_CHUNK_SIZE_BYTES,
            ArenaOptions.MAX_MEM);

    private BumpOptions() {}
}
