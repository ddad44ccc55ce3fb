package allocator.planner.search;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.planner.Instances;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** No part is above a greedy plan of it, with no more steps than one greedy order takes. */
class PartSolverTest {
    @Property(tries = 100)
    void noPlanIsAboveOneOfRandomLifetimes(@ForAll @IntRange(min = 1, max = 150) int count, @ForAll long seed) {
        requireNotAbove(Instances.random(count, 40, 1 << 20, new long[] {1}, new Random(seed)));
    }

    @Property(tries = 50)
    void noPlanIsAboveOneOfAStream(@ForAll Instances.Shape shape, @ForAll long seed) {
        requireNotAbove(shape.blocks(300, seed));
    }

    private static void requireNotAbove(Instance instance) {
        final int count = instance.size();
        final Problem problem = new Problem(
                longs(instance, Lifetime::lower),
                longs(instance, Lifetime::upper),
                longs(instance, Lifetime::byteSize),
                longs(instance, Lifetime::byteAlignment));
        final Effort effort = new Effort(count, Duration.ofHours(1), () -> false);
        final PartSolver part = new PartSolver(problem, new Part(problem.blocksBy(problem.lower), 0), effort);
        part.begin(0);
        part.improve(part.bound());
        final long height = part.height() * problem.unit;
        assertThat(height).isLessThanOrEqualTo(greedy(instance, bySize(), false));
        assertThat(height).isLessThanOrEqualTo(greedy(instance, byBegin(), false));
        assertThat(height).isLessThanOrEqualTo(greedy(instance, byBegin(), true));
    }

    private static long[] longs(Instance instance, ToLongFunction<Lifetime> value) {
        return instance.lifetimes().stream().mapToLong(value).toArray();
    }

    private static Comparator<Lifetime> bySize() {
        return Comparator.comparingLong((Lifetime block) -> -block.byteSize()).thenComparing(byDuration());
    }

    private static Comparator<Lifetime> byBegin() {
        return Comparator.comparingLong(Lifetime::lower);
    }

    private static Comparator<Lifetime> byDuration() {
        return Comparator.comparingLong(block -> block.lower() - block.upper());
    }

    /** The height if each block goes into the lowest gap, or the smallest. */
    private static long greedy(Instance instance, Comparator<Lifetime> order, boolean isBest) {
        final Map<Integer, Long> offsets = new LinkedHashMap<>();
        long height = 0;
        final List<Integer> blocks =
                new ArrayList<>(IntStream.range(0, instance.size()).boxed().toList());
        blocks.sort(Comparator.comparing(instance::lifetime, order));
        for (final int b : blocks) {
            final Lifetime block = instance.lifetime(b);
            final List<Integer> below = offsets.keySet().stream()
                    .filter(other -> instance.lifetime(other).lower() < block.upper()
                            && block.lower() < instance.lifetime(other).upper())
                    .sorted(Comparator.comparing(offsets::get))
                    .toList();
            long top = 0;
            long found = -1;
            long least = Long.MAX_VALUE;
            for (final int other : below) {
                final long gap = offsets.get(other) - top;
                if (gap >= block.byteSize() && (isBest ? gap < least : found < 0)) {
                    found = top;
                    least = gap;
                }
                top = Math.max(
                        top, offsets.get(other) + instance.lifetime(other).byteSize());
            }
            offsets.put(b, found < 0 ? top : found);
            height = Math.max(height, offsets.get(b) + block.byteSize());
        }
        return height;
    }
}
