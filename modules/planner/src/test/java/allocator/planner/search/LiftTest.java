package allocator.planner.search;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LiftTest {
    private static final int BLOCKS = 5000;

    private final Effort effort = new Effort(Long.MAX_VALUE, Duration.ofHours(1), () -> false);

    private static Sections sections() {
        final Random random = new Random(1);
        final long[] lower = new long[BLOCKS];
        final long[] upper = new long[BLOCKS];
        final long[] size = new long[BLOCKS];
        final long[] alignment = new long[BLOCKS];
        for (int b = 0; b < BLOCKS; b++) {
            lower[b] = b;
            upper[b] = b + 1L + random.nextInt(random.nextInt(100) == 0 ? 500 : 100);
            size[b] = 1L + random.nextInt(1 << 20);
            alignment[b] = 1;
        }
        final Problem problem = new Problem(lower, upper, size, alignment);
        return new Sections(problem, problem.blocksBy(problem.lower));
    }

    private static double gap(Sections sections, long[] offsets) {
        return (double) Skyline.height(sections, offsets) / sections.bound() - 1;
    }

    @Test
    void aPlanBecomesLowerThanByAnyOrder() {
        final Sections sections = sections();
        final long[] first = Sweep.place(sections, Order.EARLIEST_LONGEST.ranks(sections), false, effort);
        final Lift lift = new Lift(sections, first, effort);
        lift.run(sections.bound(), 1L << 31);
        final double best = Arrays.stream(Order.values())
                .mapToDouble(
                        order -> gap(sections, Greedy.place(sections, order.ranks(sections), Long.MAX_VALUE, effort)))
                .min()
                .orElseThrow();
        assertThat(gap(sections, lift.offsets())).isLessThan(best * 0.58);
        requireApart(sections, lift.offsets());
    }

    /** What is taken out is put back where it lay. */
    @Test
    void aPlanStaysValidWhenTheEffortEndsWithinAWindow() {
        final Sections sections = sections();
        final long[] first = Sweep.place(sections, Order.EARLIEST_LONGEST.ranks(sections), false, effort);
        for (final int steps : new int[] {0, 1, 10, 30, 100, 1000}) {
            final Effort few = new Effort(steps, Duration.ofHours(1), () -> false);
            final Lift lift = new Lift(sections, first, few);
            lift.run(sections.bound(), Long.MAX_VALUE / 2);
            assertThat(few.steps()).isEqualTo(steps);
            assertThat(gap(sections, lift.offsets())).isLessThanOrEqualTo(gap(sections, first));
            requireApart(sections, lift.offsets());
        }
    }

    private void requireApart(Sections sections, long[] offsets) {
        final int[][] neighbours = sections.neighbours(sections.members(effort), effort);
        for (int b = 0; b < BLOCKS; b++) {
            for (final int other : neighbours[b]) {
                assertThat(offsets[b] + sections.size[b] <= offsets[other]
                                || offsets[other] + sections.size[other] <= offsets[b])
                        .as("blocks %d and %d", b, other)
                        .isTrue();
            }
        }
    }
}
