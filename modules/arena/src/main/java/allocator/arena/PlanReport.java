package allocator.arena;

import allocator.arena.plan.PlannedMemory;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Counter;
import allocator.spi.AllocatorStats.Unit;
import allocator.spi.MemoryInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Describes the memory of plans: its counters, and its chunks at one moment, copied under the lane's lock. */
final class PlanReport {
    /** The id of the region of plans, which no other region has. */
    private static final int REGION_ID = -1;

    private final long base;
    private final long byteSize;
    private final List<Block> blocks = new ArrayList<>();

    /** What is live, or waits for a stream. */
    private record Block(long offset, long end, boolean isLive, long requestedBytes, long streamId) {}

    private PlanReport(PlannedMemory memory) {
        base = memory.base();
        byteSize = memory.heldBytes();
        memory.forEach((offset, bytes, isLive, requestedBytes, streamId) ->
                blocks.add(new Block(offset, offset + bytes, isLive, requestedBytes, streamId)));
    }

    /** Copies what the memory holds. Under the lane's lock. */
    static PlanReport of(PlannedMemory memory) {
        return new PlanReport(memory);
    }

    /** Returns the counters of plans; of a lane that follows none, zeros. Under the lane's lock. */
    static List<Counter> counters(@Nullable LanePlan plan) {
        final PlannedMemory memory = plan == null ? null : plan.memory;
        return List.of(
                counter("PlannedAllocs", memory == null ? 0 : memory.allocs()),
                counter("PlanRuns", memory == null ? 0 : memory.runs()),
                counter("PlanMismatches", memory == null ? 0 : memory.mismatches()),
                counter("PlanBusyAllocs", memory == null ? 0 : memory.busyCalls()));
    }

    private static Counter counter(String name, long value) {
        return new AllocatorStats.Counter(name, value, Unit.COUNT, true);
    }

    /** Returns the size of a live block. Under the lane's lock. */
    static long sizeOf(PlannedMemory memory, long address, boolean isRequested, MemoryInfo info) {
        final int place = memory.placeAt(address);
        if (place < 0) {
            throw new IllegalArgumentException(
                    "0x" + Long.toHexString(address) + " is not a live allocation of " + info);
        }
        return isRequested ? memory.requested(place) : memory.byteSize(place);
    }

    /** Returns the region, as a value of {@link BfcArena#snapshot}. */
    ArenaSnapshot.Region toRegion(int lane) {
        final List<ArenaSnapshot.Chunk> chunks = new ArrayList<>();
        chunks().forEach((offset, chunk) -> chunks.add(new ArenaSnapshot.Chunk(
                base + offset, chunk.end - offset, !chunk.isLive, chunk.requestedBytes, chunk.streamId, 0, 0, 0)));
        return new ArenaSnapshot.Region(lane, REGION_ID, base, byteSize, chunks);
    }

    /** Returns the region, as a value of {@link BfcArena#inspect}. */
    AllocatorSnapshot.Region toInspectedRegion(int lane) {
        final List<AllocatorSnapshot.Chunk> chunks = new ArrayList<>();
        chunks().forEach((offset, chunk) -> chunks.add(new AllocatorSnapshot.Chunk(
                base + offset,
                chunk.end - offset,
                chunk.requestedBytes,
                chunk.isLive ? State.LIVE : chunk.streamId == 0 ? State.FREE : State.WAITING,
                chunk.streamId)));
        return new AllocatorSnapshot.Region(lane, base, byteSize, chunks);
    }

    /** Returns chunks that cover the memory, by offset: what waits, and above it what is live. */
    private Map<Long, Block> chunks() {
        final NavigableMap<Long, Block> chunks = new TreeMap<>();
        chunks.put(0L, new Block(0, byteSize, false, 0, 0));
        blocks.stream().filter(block -> !block.isLive).forEach(block -> cover(chunks, block));
        blocks.stream().filter(Block::isLive).forEach(block -> cover(chunks, block));
        return chunks;
    }

    private static void cover(NavigableMap<Long, Block> chunks, Block block) {
        cut(chunks, block.offset);
        cut(chunks, block.end);
        chunks.subMap(block.offset, block.end).clear();
        chunks.put(block.offset, block);
    }

    private static void cut(NavigableMap<Long, Block> chunks, long at) {
        final Map.Entry<Long, Block> below = chunks.lowerEntry(at);
        if (below != null && below.getValue().end > at) {
            final Block whole = below.getValue();
            chunks.put(below.getKey(), new Block(below.getKey(), at, false, 0, whole.streamId));
            chunks.put(at, new Block(at, whole.end, false, 0, whole.streamId));
        }
    }
}
