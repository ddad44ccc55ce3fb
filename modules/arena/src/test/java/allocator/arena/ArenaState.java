package allocator.arena;

import allocator.arena.chunk.ChunkValue;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import java.util.List;

/**
 * All that an arena of one lane knows, as a value: to compare the arena with what it was.
 *
 * @param stats its statistics
 * @param nextRegionBytes the size that doubling plans next
 * @param chunks its chunks by address
 * @param blocks what it holds outside regions
 */
record ArenaState(
        AllocatorStats stats, long nextRegionBytes, List<ChunkValue> chunks, List<AllocatorSnapshot.Chunk> blocks) {

    static ArenaState of(BfcArena arena) {
        return new ArenaState(
                arena.stats(),
                arena.lanes.main.supply.nextRegionBytes(),
                chunksOf(arena),
                arena.inspect().blocks());
    }

    static List<ChunkValue> chunksOf(BfcArena arena) {
        return ChunkValue.listOf(arena.lanes.main.placement);
    }
}
