package allocator.plan;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * What a check of a plan found: a sweep over time with the live blocks by their offsets, which shares no code with a
 * planner.
 *
 * @param height the largest end of a block in bytes, 0 without blocks; {@code Long.MAX_VALUE} if one is above the range
 * @param load the most bytes that live at one time, below which there is no plan; at most {@code Long.MAX_VALUE}
 * @param fault why the plan is not valid, in the order of time the first reason; empty if it is valid
 */
public record PlanCheck(long height, long load, Optional<String> fault) {
    /**
     * Checks that blocks are aligned, lie at 0 or above, and share no byte while they live. Blocks without bytes or
     * without time need no place.
     *
     * @param ids the name of each block in a fault
     * @param instance the blocks
     * @param offsets bytes, by index in the instance
     * @return what was found
     * @throws IllegalArgumentException if numbers of ids, blocks and offsets differ
     */
    public static PlanCheck of(List<String> ids, Instance instance, long[] offsets) {
        if (ids.size() != instance.size() || offsets.length != instance.size()) {
            throw new IllegalArgumentException(
                    ids.size() + " ids and " + offsets.length + " offsets for " + instance.size() + " blocks");
        }
        final Integer[] starts = IntStream.range(0, offsets.length)
                .filter(block -> !instance.lifetime(block).isEmpty())
                .boxed()
                .toArray(Integer[]::new);
        final Integer[] ends = starts.clone();
        Arrays.sort(
                starts,
                Comparator.comparingLong(block -> instance.lifetime(block).lower()));
        Arrays.sort(
                ends, Comparator.comparingLong(block -> instance.lifetime(block).upper()));
        final NavigableMap<Long, Integer> live = new TreeMap<>();
        Optional<String> fault = Optional.empty();
        int ended = 0;
        long bytes = 0;
        long load = 0;
        long height = 0;
        for (final int block : starts) {
            final Lifetime lifetime = instance.lifetime(block);
            for (; instance.lifetime(ends[ended]).upper() <= lifetime.lower(); ended++) {
                live.remove(offsets[ends[ended]], ends[ended]);
                bytes = Math.max(0, bytes - instance.lifetime(ends[ended]).byteSize());
            }
            fault = fault.or(() -> fault(ids, instance, offsets, live, block));
            live.put(offsets[block], block);
            bytes = sum(bytes, lifetime.byteSize());
            load = Math.max(load, bytes);
            height = Math.max(height, sum(offsets[block], lifetime.byteSize()));
        }
        return new PlanCheck(height, load, fault);
    }

    private static Optional<String> fault(
            List<String> ids, Instance instance, long[] offsets, NavigableMap<Long, Integer> live, int block) {
        final Lifetime lifetime = instance.lifetime(block);
        final String place = "block " + ids.get(block) + " at offset " + offsets[block];
        if (offsets[block] < 0 || offsets[block] > Long.MAX_VALUE - lifetime.byteSize()) {
            return Optional.of(place + " is outside of 0 to " + Long.MAX_VALUE);
        }
        if (offsets[block] % lifetime.byteAlignment() != 0) {
            return Optional.of(place + " is not a multiple of its alignment " + lifetime.byteAlignment());
        }
        // The live blocks share no byte so far: the highest that begins below the end is the only one to look at.
        final var below = live.lowerEntry(offsets[block] + lifetime.byteSize());
        if (below == null
                || sum(below.getKey(), instance.lifetime(below.getValue()).byteSize()) <= offsets[block]) {
            return Optional.empty();
        }
        return Optional.of(place + " of " + lifetime.byteSize() + " bytes shares memory at time " + lifetime.lower()
                + " with block " + ids.get(below.getValue()) + " at offset " + below.getKey() + " of "
                + instance.lifetime(below.getValue()).byteSize() + " bytes");
    }

    /** Returns a sum of what is not negative, at most the largest {@code long}. */
    private static long sum(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }
}
