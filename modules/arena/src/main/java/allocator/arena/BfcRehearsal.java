package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.compact.PagesWithoutMemory;
import allocator.arena.upstream.Rehearsal;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Objects;

/**
 * The rehearsal of a {@link BfcArena}: every kind of call that succeeds, a repair, and the creation of every exception
 * that a call throws.
 *
 * <p>No call fails in it, and no lane is described, which a failure can do without: each would make every later
 * allocation 3 to 6 % longer.
 */
final class BfcRehearsal {
    // One for each policy: a policy that no arena has is not even loaded, so that the compiler knows of one only.
    private static final Rehearsal OF_BEST_FIT =
            new Rehearsal(upstream -> rehearse(new BfcArena(upstream, configOf(PlacementPolicy.BEST_FIT))));

    private static final Rehearsal OF_QUICK_FIT =
            new Rehearsal(upstream -> rehearse(new BfcArena(upstream, configOf(PlacementPolicy.QUICK_FIT))));

    private static final Rehearsal OF_COMPACT = new Rehearsal(upstream -> rehearse(
            BfcArena.onPages(upstream, new PagesWithoutMemory(upstream.info()), configOf(PlacementPolicy.COMPACT))));

    private BfcRehearsal() {}

    /** Rehearses what an arena with a policy does, unless that has been done. */
    static void ensure(PlacementPolicy policy) {
        final Rehearsal rehearsal = switch (policy) {
            case BEST_FIT -> OF_BEST_FIT;
            case QUICK_FIT -> OF_QUICK_FIT;
            case COMPACT -> OF_COMPACT;
        };
        rehearsal.ensure();
    }

    private static ArenaConfig configOf(PlacementPolicy policy) {
        return ArenaConfig.DEFAULT.withPlacementPolicy(policy);
    }

    private static void rehearse(BfcArena arena) {
        final Lane lane = arena.lanes.main;
        final long block = arena.alloc(1);
        final long large = arena.alloc(1 << 16);
        final long reserve = arena.reserve(1);
        createFailures(arena, lane, block);
        arena.free(large);
        Rehearsal.create(() -> diagnose(lane, large));
        lane.locked(lane.supply::repair);
        arena.free(block);
        arena.free(reserve);
        arena.free(arena.alloc(0));
        arena.stats();
        arena.shrink();
        arena.close();
    }

    private static void createFailures(BfcArena arena, Lane lane, long live) {
        Rehearsal.create(lane::closed);
        Rehearsal.create(() -> InvalidSizeException.negative(-1));
        Rehearsal.create(() -> InvalidSizeException.overflow(Long.MAX_VALUE, Granules.BYTES));
        Rehearsal.create(() -> diagnose(lane, live + 1));
        final OutOfMemoryException failure = new OutOfMemoryException("rehearsal", Shortage.ofDevice(lane.info, 1, 0));
        Rehearsal.create(() -> arena.relief.ofAllLanes(failure, 1));
    }

    private static InvalidFreeException diagnose(Lane lane, long address) {
        final Region region = Objects.requireNonNull(lane.regions.find(address));
        return lane.<InvalidFreeException>locked(() -> lane.report().invalidFree(region, address));
    }
}
