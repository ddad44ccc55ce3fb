package allocator.arena.plan;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.ExtendStrategy;
import allocator.arena.PlacementPolicy;
import allocator.arena.StreamArenaAllocator;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

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

    /** Returns an allocator over an arena that takes regions of 1 MiB, twice as large each time. */
    static PlannedAllocator over(Allocator device, long maxMem, PlannedCalls... plans) {
        final ArenaConfig config = new ArenaConfig(
                ExtendStrategy.POWER_OF_TWO, MIB, MIB, MIB, MIB, maxMem, PlacementPolicy.BEST_FIT, 1, false);
        return new PlannedArena(
                new StreamArenaAllocator(new BfcArena(device, config), AllocatorOptions.EMPTY), of(plans));
    }

    /** Closes an allocator over an arena, and the arena. */
    static void destroy(PlannedAllocator allocator) {
        allocator.close();
        ((PlannedArena) allocator).arena.close();
    }

    /** Reports the ends of streams to the arena too. */
    private static final class PlannedArena extends PlannedAllocator {
        private final StreamArenaAllocator arena;

        PlannedArena(StreamArenaAllocator arena, ArenaPlans plans) {
            super(arena, plans);
            this.arena = arena;
        }

        @Override
        public void endRun(SyncStream stream) {
            super.endRun(stream);
            arena.endRun(stream);
        }

        @Override
        public void releaseStream(SyncStream stream) {
            super.releaseStream(stream);
            arena.releaseStream(stream);
        }
    }

    static long counter(PlannedAllocator allocator, String name) {
        return allocator.stats().counter(name).orElseThrow().value();
    }

    /** Returns a live block as a snapshot shows it. */
    static Chunk block(PlannedAllocator allocator, long address) {
        return chunks(allocator)
                .filter(chunk -> chunk.address() == address && chunk.state() == State.LIVE)
                .findAny()
                .orElseThrow();
    }

    /** Returns all chunks and blocks. */
    static Stream<Chunk> chunks(PlannedAllocator allocator) {
        final var snapshot = allocator.inspect();
        return Stream.concat(
                snapshot.regions().stream().flatMap(region -> region.chunks().stream()), snapshot.blocks().stream());
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
}
