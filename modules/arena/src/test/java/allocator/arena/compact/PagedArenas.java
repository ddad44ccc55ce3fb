package allocator.arena.compact;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.arena.ExtendStrategy;
import allocator.arena.PlacementPolicy;
import allocator.testkit.FakeDevice;

/** Arenas on pages without a device, and what they count. */
final class PagedArenas {
    private PagedArenas() {}

    /** Creates an arena with one lane. */
    static BfcArena create(FakePages pages, long maxMem, CompactConfig config) {
        return create(new FakeDevice(), pages, maxMem, 1, config);
    }

    /** Creates an arena whose reserves are blocks of a device. */
    static BfcArena create(FakeDevice device, FakePages pages, long maxMem, int maxLanes, CompactConfig config) {
        return BfcArena.onPages(
                device,
                pages,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        1,
                        1,
                        1,
                        1,
                        maxMem,
                        PlacementPolicy.COMPACT,
                        maxLanes,
                        false,
                        config));
    }

    /** Returns a counter of pages. */
    static long counter(BfcArena arena, String name) {
        return arena.stats().counter(name).orElseThrow().value();
    }
}
