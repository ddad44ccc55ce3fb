package allocator.planner.search;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class SweepTest {
    private final Effort effort = new Effort(Long.MAX_VALUE, Duration.ofHours(1), () -> false);

    @Property(tries = 300)
    void placesAsGreedyDoesInTheSameOrder(
            @ForAll @IntRange(min = 1, max = 200) int count,
            @ForAll @IntRange(min = 1, max = 100) int time,
            @ForAll long seed) {
        final Random random = new Random(seed);
        final long[] lower = new long[count];
        final long[] upper = new long[count];
        final long[] size = new long[count];
        final long[] alignment = new long[count];
        for (int b = 0; b < count; b++) {
            lower[b] = random.nextLong(time);
            upper[b] = lower[b] + 1 + random.nextLong(time - lower[b]);
            size[b] = 1 + random.nextLong(8);
            alignment[b] = 1L << random.nextInt(3);
        }
        final Sections sections = sections(lower, upper, size, alignment);
        final int[] ranks = Order.EARLIEST_LONGEST.ranks(sections);
        assertThat(Sweep.place(sections, ranks, false, effort))
                .isEqualTo(Greedy.place(sections, ranks, Long.MAX_VALUE, effort));
    }

    /** Three of equal blocks live at a time; each takes the place of the one that has just ended. */
    @Test
    void takesThePlaceOfWhatHasEnded() {
        final int count = 1000;
        final long[] lower = new long[count];
        final long[] upper = new long[count];
        Arrays.setAll(lower, b -> b);
        Arrays.setAll(upper, b -> b + 3L);
        final Sections sections = sections(lower, upper, filled(count, 5), filled(count, 1));
        final long[] offsets = Sweep.place(sections, Order.EARLIEST_LONGEST.ranks(sections), false, effort);
        assertThat(Skyline.height(sections, offsets)).isEqualTo(3);
    }

    /** When the last block begins, 3 are free below the second block, and 1 above it. */
    @Test
    void takesTheLowestGapOrTheSmallest() {
        final Sections sections = sections(
                new long[] {-20, -10, -8, 0, 6}, new long[] {6, 9, 6, 9, 9}, new long[] {3, 1, 1, 1, 1}, filled(5, 1));
        final int[] ranks = Order.EARLIEST_LONGEST.ranks(sections);
        assertThat(Sweep.place(sections, ranks, false, effort)).containsExactly(0, 3, 4, 5, 0);
        assertThat(Sweep.place(sections, ranks, true, effort)).containsExactly(0, 3, 4, 5, 4);
    }

    @Test
    void endsWithTheEffort() {
        final int count = 10_000;
        final long[] lower = new long[count];
        Arrays.setAll(lower, b -> b);
        final Sections sections = sections(lower, filled(count, count), filled(count, 1), filled(count, 1));
        final Effort cut = new Effort(Long.MAX_VALUE, Duration.ZERO, () -> false);
        assertThat(Sweep.place(sections, Order.EARLIEST_LONGEST.ranks(sections), false, cut))
                .isEmpty();
    }

    private static long[] filled(int count, long value) {
        final long[] values = new long[count];
        Arrays.fill(values, value);
        return values;
    }

    private static Sections sections(long[] lower, long[] upper, long[] size, long[] alignment) {
        final Problem problem = new Problem(lower, upper, size, alignment);
        return new Sections(problem, problem.blocksBy(problem.lower));
    }
}
