package allocator.simulation.world;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.CompactConfig;
import allocator.arena.ExtendStrategy;
import allocator.arena.PlacementPolicy;
import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.spi.AllocatorOptions;
import java.util.List;
import java.util.SplittableRandom;

/** Configurations that a seed decides. */
public final class ArenaSettings {
    private ArenaSettings() {}

    /** Has arenas do outside any program what they do once in a process, which no schedule may depend on. */
    public static void rehearse() {
        final SplittableRandom random = new SplittableRandom(0);
        final SimulatedDevice device = new SimulatedDevice(random, new Model(), Long.MAX_VALUE, Long.MAX_VALUE, 0);
        for (final PlacementPolicy policy : List.of(PlacementPolicy.BEST_FIT, PlacementPolicy.SLABS)) {
            new BfcArena(device, arena(random, 0, policy)).close();
        }
        new BumpAllocator(device, bump(random), 0, AllocatorOptions.EMPTY).close();
        final PagedModel onPages = new PagedModel(1, Long.MAX_VALUE, List.of());
        BfcArena.onPages(device, onPages.pages().on(device), paged(random, 0)).close();
    }

    /** Returns that of an arena with best fit or slabs. */
    static ArenaConfig arena(SplittableRandom random, long limit) {
        return arena(random, limit, random.nextBoolean() ? PlacementPolicy.BEST_FIT : PlacementPolicy.SLABS);
    }

    static ArenaConfig arena(SplittableRandom random, long limit, PlacementPolicy policy) {
        final int largest = policy == PlacementPolicy.SLABS ? 24 : 16; // small regions have no slabs
        return new ArenaConfig(
                random.nextBoolean() ? ExtendStrategy.POWER_OF_TWO : ExtendStrategy.SAME_AS_REQUESTED,
                1 << random.nextInt(8, largest),
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 16),
                1 << random.nextInt(8, 18),
                limit,
                policy,
                1 + random.nextInt(3),
                random.nextBoolean());
    }

    /** Returns that of an arena on pages. */
    static ArenaConfig paged(SplittableRandom random, long limit) {
        return new ArenaConfig(
                ExtendStrategy.POWER_OF_TWO,
                1,
                1,
                1,
                1,
                limit,
                PlacementPolicy.COMPACT,
                random.nextBoolean() ? 1 : 1 + random.nextInt(3),
                false,
                new CompactConfig(
                        new int[] {0, 4, 50}[random.nextInt(3)],
                        random.nextInt(5),
                        1 << random.nextInt(7),
                        1 + random.nextInt(5),
                        random.nextBoolean() ? 0 : 1000));
    }

    static BumpConfig bump(SplittableRandom random) {
        final long initial = 1L << random.nextInt(8, 14);
        return new BumpConfig(
                initial,
                random.nextBoolean() ? 0 : 1L << random.nextInt(8, 16),
                random.nextBoolean() ? 0 : initial << random.nextInt(4));
    }
}
