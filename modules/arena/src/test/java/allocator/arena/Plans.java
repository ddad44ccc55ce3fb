package allocator.arena;

import allocator.arena.plan.PlannedCalls;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Plans for tests. */
final class Plans {
    private static final long GRANULE = 256;
    private static final long MIB = 1 << 20;

    private Plans() {}

    /** Returns a plan: of each call the number of granules, and the offset in granules. */
    static PlannedCalls plan(String name, long[]... calls) {
        return new PlannedCalls(
                name,
                Arrays.stream(calls).mapToLong(call -> call[0] * GRANULE).toArray(),
                Arrays.stream(calls).mapToLong(call -> call[1] * GRANULE).toArray());
    }

    /** Returns an arena that takes regions of 1 MiB, twice as large each time, and follows plans. */
    static BfcArena arena(FakeDevice device, long maxMem, PlannedCalls... plans) {
        return new BfcArena(
                device,
                new ArenaConfig(
                                ExtendStrategy.POWER_OF_TWO,
                                MIB,
                                MIB,
                                MIB,
                                MIB,
                                maxMem,
                                PlacementPolicy.BEST_FIT,
                                0,
                                1,
                                false)
                        .withPlans(of(plans)));
    }

    static long counter(BfcArena arena, String name) {
        return arena.stats().counter(name).orElseThrow().value();
    }

    static long[] call(long granules, long offset) {
        return new long[] {granules, offset};
    }

    static ArenaPlans of(PlannedCalls... plans) {
        return ArenaPlans.ofCalls(List.of(plans));
    }

    /** Returns a plan of random calls whose blocks overlap in memory, whatever their lifetimes. */
    static PlannedCalls random(String name, int calls, int granules, int height, Random random) {
        final long[][] each = new long[calls][];
        for (int i = 0; i < calls; i++) {
            final int size = 1 + random.nextInt(granules);
            each[i] = call(size, random.nextInt(height - size + 1));
        }
        return plan(name, each);
    }

    /** Returns plans of which one goes on with whatever small block comes first and second. */
    static ArenaPlans ofSmallSizes() {
        final Random random = new Random(1);
        final List<PlannedCalls> plans = new ArrayList<>();
        for (int first = 1; first <= 16; first++) {
            for (int second = 1; second <= 16; second++) {
                plans.add(
                        plan(first + "," + second, call(first, 0), call(second, 10), call(1 + random.nextInt(16), 4)));
            }
        }
        return ArenaPlans.ofCalls(plans);
    }
}
