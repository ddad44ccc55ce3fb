package allocator.arena;

import allocator.arena.chunk.Region;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** Describes an arena: the statistics of its lanes, all of one moment, added up; and the memory of each lane. */
record ArenaReport(Lanes lanes) {
    /** Returns the statistics. */
    AllocatorStats stats() {
        return sumOf(lanes.locked(all -> {
            final List<AllocatorStats> each = new ArrayList<>(all.size());
            for (final Lane lane : all) {
                lane.begin();
                each.add(lane.report().stats());
            }
            return each;
        }));
    }

    private AllocatorStats sumOf(List<AllocatorStats> each) {
        final long inUse = sum(each, AllocatorStats::bytesInUse);
        final long held = lanes.heldLimit.withUnreturned(sum(each, AllocatorStats::bytesHeld));
        return new AllocatorStats.Builder()
                .limit(each.getFirst().limit())
                .inUse(inUse, sum(each, AllocatorStats::requestedBytesInUse), sum(each, AllocatorStats::peakBytesInUse))
                .held(held, Math.max(held, lanes.heldLimit.peakHeld()))
                .free(held - inUse, max(each, AllocatorStats::largestFreeChunk))
                .calls(
                        sum(each, AllocatorStats::numAllocs),
                        sum(each, AllocatorStats::numReserves),
                        sum(each, AllocatorStats::numFailedAllocs),
                        max(each, AllocatorStats::maxAllocSize))
                .regions(sum(each, AllocatorStats::numArenaExtensions), sum(each, AllocatorStats::numArenaShrinkages))
                .counters(sumOfCounters(each))
                .build();
    }

    private static long sum(List<AllocatorStats> each, ToLongFunction<AllocatorStats> counter) {
        return each.stream().mapToLong(counter).sum();
    }

    private static long max(List<AllocatorStats> each, ToLongFunction<AllocatorStats> counter) {
        return each.stream().mapToLong(counter).max().orElse(0);
    }

    /** Adds up the counters that every lane has, in the same order, and adds those of the upstream allocator. */
    private List<AllocatorStats.Counter> sumOfCounters(List<AllocatorStats> each) {
        final List<AllocatorStats.Counter> sums =
                new ArrayList<>(each.getFirst().counters());
        for (final AllocatorStats stats : each.subList(1, each.size())) {
            for (int i = 0; i < sums.size(); i++) {
                final AllocatorStats.Counter sum = sums.get(i);
                final long value = sum.value() + stats.counters().get(i).value();
                sums.set(i, new AllocatorStats.Counter(sum.name(), value, sum.unit(), sum.isMonotone()));
            }
        }
        sums.addAll(lanes.upstream.counters());
        return sums;
    }

    /** Lists the memory of each lane under its lock, one lane after the other. */
    AllocatorSnapshot inspect() {
        final List<AllocatorSnapshot.Region> regions = new ArrayList<>();
        final List<Chunk> blocks = new ArrayList<>();
        for (final Lane lane : lanes.all()) {
            final Map<Region, List<Chunk>> chunks = new LinkedHashMap<>();
            lane.locked(() -> {
                lane.regions.toList().forEach(region -> chunks.put(region, chunks(lane, region)));
                return blocks.addAll(lane.blocks.list());
            });
            chunks.forEach((region, parts) ->
                    regions.add(new AllocatorSnapshot.Region(lane.number, region.base(), region.byteSize(), parts)));
        }
        blocks.sort(Comparator.comparing(Chunk::address, Long::compareUnsigned));
        return new AllocatorSnapshot(regions, blocks);
    }

    private static List<Chunk> chunks(Lane lane, Region region) {
        final List<Chunk> parts = new ArrayList<>();
        lane.placement.list(region, (address, byteSize, requested, state, streamId) -> {
            if (state == State.LIVE || state == State.CACHED) {
                parts.add(new Chunk(address, byteSize, requested, state, streamId));
            } else {
                addFree(lane.supply, address, address + byteSize, streamId, parts);
            }
        });
        return parts;
    }

    /** Adds a free chunk, divided by what backs it; a stream may still have to be waited for, for a part of it. */
    private static void addFree(Supply supply, long address, long end, long owner, List<Chunk> parts) {
        long from = address;
        while (from != end) {
            final long to = supply.sameBacking(from, end);
            if (supply.isBacked(from)) {
                final long pending = owner == 0 ? supply.pending(from) : owner;
                final boolean isPending = pending != Supply.NO_STREAM;
                final State state = isPending ? State.WAITING : State.FREE;
                parts.add(new Chunk(from, to - from, 0, state, isPending ? pending : 0));
            } else {
                parts.add(new Chunk(from, to - from, 0, State.UNMAPPED, 0));
            }
            from = to;
        }
    }
}
