package allocator.arena;

import allocator.spi.AllocatorStats;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** Statistics and snapshot of an arena: the lanes', all of one moment, added up. */
final class ArenaTotals {
    private final Lanes lanes;

    ArenaTotals(Lanes lanes) {
        this.lanes = lanes;
    }

    /** Returns the statistics. */
    AllocatorStats stats() {
        return sumOf(ofEach(LaneReport::stats));
    }

    /** Returns the snapshot. */
    ArenaSnapshot snapshot(ArenaConfig config) {
        final List<ArenaSnapshot> each = ofEach(LaneReport::snapshot);
        return new ArenaSnapshot(
                each.getFirst().memory(),
                config,
                sumOf(each.stream().map(ArenaSnapshot::stats).toList()),
                each.getFirst().nextRegionBytes(),
                inOrder(each, ArenaSnapshot::regions, ArenaSnapshot.Region::address),
                inOrder(each, ArenaSnapshot::reserves, ArenaSnapshot.Span::address),
                inOrder(each, ArenaSnapshot::unreturned, ArenaSnapshot.Span::address));
    }

    /** Returns what the report of each lane says, all of one moment. */
    private <T> List<T> ofEach(Function<LaneReport, T> query) {
        return lanes.locked(all -> {
            final List<T> results = new ArrayList<>(all.size());
            for (final Lane lane : all) {
                lane.begin();
                results.add(query.apply(lane.report()));
            }
            return results;
        });
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

    private static long max(List<AllocatorStats> each, ToLongFunction<AllocatorStats> counter) {
        return each.stream().mapToLong(counter).max().orElse(0);
    }

    private static <T> List<T> inOrder(
            List<ArenaSnapshot> each, Function<ArenaSnapshot, List<T>> part, Function<T, Long> address) {
        return each.stream()
                .flatMap(snapshot -> part.apply(snapshot).stream())
                .sorted(Comparator.comparing(address, Long::compareUnsigned))
                .toList();
    }
}
