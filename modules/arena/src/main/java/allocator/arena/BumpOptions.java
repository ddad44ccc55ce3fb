package allocator.arena;

import allocator.spi.OptionKey;
import java.util.List;
import java.util.Map;

/** The option keys of a provider that offers bump arenas beside best-fit ones. */
public final class BumpOptions {
    /** {@code arena.kind}. */
    public static final OptionKey<ArenaKind> KIND = OptionKey.choice(
            "arena.kind",
            ArenaKind.BFC,
            Map.of("bfc", ArenaKind.BFC, "bump", ArenaKind.BUMP),
            "best fit with coalescing (bfc), or bump allocation for memory that lives and dies together (bump)");

    /** {@code arena.bump_max_mem}. */
    public static final OptionKey<Long> BUMP_MAX_MEM = OptionKey.bytes(
            "arena.bump_max_mem",
            0,
            "the most that the regions of a bump arena may come to; what does not fit is taken block by block; 0 is"
                    + " arena.max_mem");

    /** All of them. */
    public static final List<OptionKey<?>> KEYS = List.of(KIND, BUMP_MAX_MEM);

    private BumpOptions() {}
}
