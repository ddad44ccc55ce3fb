package allocator.planner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Proves plans by a sweep over time with the live blocks in the order of their offsets; shares no code with the search.
 */
final class PlanValidator {
    private PlanValidator() {}

    static void requireValid(Instance instance, Plan plan) {
        assertThat(plan.offsets()).hasSize(instance.size());
        final List<Integer> blocks = IntStream.range(0, instance.size())
                .filter(b -> !instance.lifetime(b).isEmpty())
                .boxed()
                .toList();
        final List<Integer> starts = blocks.stream()
                .sorted(Comparator.comparingLong(b -> instance.lifetime(b).lower()))
                .toList();
        final List<Integer> ends = blocks.stream()
                .sorted(Comparator.comparingLong(b -> instance.lifetime(b).upper()))
                .toList();
        final NavigableMap<Long, Integer> live = new TreeMap<>();
        int ended = 0;
        long liveBytes = 0;
        long peak = 0;
        for (final int b : starts) {
            final Lifetime lifetime = instance.lifetime(b);
            for (; instance.lifetime(ends.get(ended)).upper() <= lifetime.lower(); ended++) {
                live.remove(plan.offset(ends.get(ended)));
                liveBytes -= instance.lifetime(ends.get(ended)).byteSize();
            }
            requireFree(instance, plan, live, b);
            live.put(plan.offset(b), b);
            liveBytes += lifetime.byteSize();
            peak = Math.max(peak, liveBytes);
        }
        assertThat(plan.lowerBound()).isBetween(peak, plan.height());
    }

    private static void requireFree(Instance instance, Plan plan, NavigableMap<Long, Integer> live, int block) {
        final long offset = plan.offset(block);
        final long end = offset + instance.lifetime(block).byteSize();
        assertThat(offset).isNotNegative();
        assertThat(offset % instance.lifetime(block).byteAlignment())
                .as("offset %d of block %d", offset, block)
                .isZero();
        assertThat(end).isLessThanOrEqualTo(plan.height());
        final Map.Entry<Long, Integer> below = live.lowerEntry(end);
        if (below != null) {
            assertThat(below.getKey() + instance.lifetime(below.getValue()).byteSize())
                    .as("end of block %d below block %d", below.getValue(), block)
                    .isLessThanOrEqualTo(offset);
        }
    }
}
