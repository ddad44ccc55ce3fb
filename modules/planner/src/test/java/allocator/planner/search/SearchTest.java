package allocator.planner.search;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Each strategy alone, without the heuristics, agrees with trying all orders. */
class SearchTest {
    private static final int TIME = 7;

    private final Effort effort = new Effort(Long.MAX_VALUE, Duration.ofHours(1), () -> false);

    @Property(tries = 200)
    void everyStrategyFindsTheLeastHeightAndNoLess(@ForAll @IntRange(min = 2, max = 7) int count, @ForAll long seed) {
        final Sections sections = sections(count, new long[] {1}, new Random(seed));
        requireDecided(sections);
    }

    @Property(tries = 200)
    void alignedBlocksToo(@ForAll @IntRange(min = 2, max = 6) int count, @ForAll long seed) {
        requireDecided(sections(count, new long[] {1, 2, 4}, new Random(seed)));
    }

    private void requireDecided(Sections sections) {
        final long least = leastHeight(sections, new long[sections.blocks()], new boolean[sections.blocks()], 0, 0);
        final Search search = new Search(
                sections, sections.members(effort), sections.neighbours(sections.members(effort), effort), effort);
        for (final Strategy strategy : Strategy.ALL) {
            final int[] ranks = strategy.order().ranks(sections);
            assertThat(search.run(least, strategy, ranks, Long.MAX_VALUE, Long.MAX_VALUE / 2))
                    .as("%s at %d", strategy, least)
                    .isEqualTo(Search.Outcome.FOUND);
            assertThat(Skyline.height(sections, search.offsets())).isEqualTo(least);
            assertThat(search.run(least - 1, strategy, ranks, Long.MAX_VALUE, Long.MAX_VALUE / 2))
                    .as("%s below %d", strategy, least)
                    .isEqualTo(Search.Outcome.IMPOSSIBLE);
            assertThat(search.leastExcess()).isOne();
        }
    }

    private static Sections sections(int count, long[] alignments, Random random) {
        final long[] lower = new long[count];
        final long[] upper = new long[count];
        final long[] size = new long[count];
        final long[] alignment = new long[count];
        for (int b = 0; b < count; b++) {
            lower[b] = random.nextLong(TIME);
            upper[b] = lower[b] + 1 + random.nextLong(TIME - lower[b]);
            size[b] = 1 + random.nextLong(8);
            alignment[b] = alignments[random.nextInt(alignments.length)];
        }
        final Problem problem = new Problem(lower, upper, size, alignment);
        return new Sections(problem, problem.blocksBy(problem.lower));
    }

    /** The least height, by trying all orders of stacking the blocks as low as they go. */
    private static long leastHeight(Sections sections, long[] offsets, boolean[] isPlaced, int placed, long height) {
        if (placed == offsets.length) {
            return height;
        }
        long least = Long.MAX_VALUE;
        for (int b = 0; b < offsets.length; b++) {
            if (!isPlaced[b]) {
                long offset = 0;
                for (int other = 0; other < offsets.length; other++) {
                    if (isPlaced[other]
                            && sections.from[other] < sections.to[b]
                            && sections.from[b] < sections.to[other]) {
                        offset = Math.max(offset, offsets[other] + sections.size[other]);
                    }
                }
                offsets[b] = Problem.roundUp(offset, sections.alignment[b]);
                isPlaced[b] = true;
                final long end = Math.max(height, offsets[b] + sections.size[b]);
                least = Math.min(least, leastHeight(sections, offsets, isPlaced, placed + 1, end));
                isPlaced[b] = false;
            }
        }
        return least;
    }

    @Property(tries = 20)
    void sectionsOverlapAsLifetimesDo(@ForAll @IntRange(min = 2, max = 40) int count, @ForAll long seed) {
        final Sections sections = sections(count, new long[] {1}, new Random(seed));
        final int[][] neighbours = sections.neighbours(sections.members(effort), effort);
        assertThat(Arrays.stream(neighbours).mapToLong(list -> list.length).sum())
                .isEqualTo(2 * sections.overlaps());
    }

    @Property(tries = 50)
    void sectionsAddUpWhatLivesInThem(@ForAll @IntRange(min = 1, max = 40) int count, @ForAll long seed) {
        final Sections sections = sections(count, new long[] {1}, new Random(seed));
        for (int s = 0; s < sections.count; s++) {
            long total = 0;
            int live = 0;
            for (int b = 0; b < count; b++) {
                if (sections.from[b] <= s && s < sections.to[b]) {
                    total += sections.size[b];
                    live++;
                }
            }
            assertThat(sections.total[s]).isEqualTo(total);
            assertThat(sections.live[s]).isEqualTo(live);
        }
    }

    @Property(tries = 100)
    void keysAreComparedInTurn(@ForAll @IntRange(min = 0, max = 50) int count, @ForAll long seed) {
        final Random random = new Random(seed);
        final long[] first = random.longs(count, -2, 2).toArray();
        final long[] second =
                random.longs(count, Long.MIN_VALUE, Long.MIN_VALUE + 3).toArray();
        final int[] expected = IntStream.range(0, count)
                .boxed()
                .sorted(Comparator.<Integer>comparingLong(i -> first[i]).thenComparingLong(i -> second[i]))
                .mapToInt(Integer::intValue)
                .toArray();
        assertThat(Ranking.by(first).then(second).order()).containsExactly(expected);
        final int[] positions = Ranking.by(first).then(second).positions();
        for (int i = 0; i < count; i++) {
            assertThat(positions[expected[i]]).isEqualTo(i);
        }
    }
}
