package allocator.planner.search;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigInteger;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The numbers of a problem and its plan, where sizes and alignments are powers of two or near them. */
class ProblemTest {
    private static long[] boundaries(long most, long... bits) {
        return LongStream.of(bits)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(number -> number > 0 && number <= most)
                .distinct()
                .toArray();
    }

    @Test
    void everyValueIsRoundedToTheLeastMultiple() {
        final long[] powers = LongStream.range(0, 63).toArray();
        for (final long multiple : boundaries(1L << 40, powers)) {
            for (final long value : boundaries(Long.MAX_VALUE - multiple, powers)) {
                final long rounded = Problem.roundUp(value, multiple);
                if (rounded < value || rounded - value >= multiple || rounded % multiple != 0) {
                    throw new AssertionError(value + " to a multiple of " + multiple + ": " + rounded);
                }
            }
        }
    }

    /** All three live together: their sizes, rounded to the alignment that they share, are the least height. */
    @Test
    void everyPlanOfThreeBlocksIsExactOrRejectedIfTheSumIsTooLarge() {
        final long[] sizes = boundaries(1L << 62, 0, 8, 31, 32, 60, 61, 62);
        final long[] times = {0, 0, 0};
        final long[] ends = {1, 1, 1};
        for (final long first : sizes) {
            for (final long second : sizes) {
                for (final long shared : new long[] {1, 256, 1L << 40}) {
                    final long[] blocks = {first, second, 1};
                    final BigInteger sum = Arrays.stream(blocks)
                            .mapToObj(size -> BigInteger.valueOf(size)
                                    .add(BigInteger.valueOf(shared - 1))
                                    .divide(BigInteger.valueOf(shared))
                                    .multiply(BigInteger.valueOf(shared)))
                            .reduce(BigInteger.ZERO, BigInteger::add);
                    final boolean isTooLarge = sum.compareTo(BigInteger.valueOf(1L << 62)) > 0;
                    long height = -1;
                    try {
                        final Problem problem = new Problem(times, ends, blocks, new long[] {shared, shared, shared});
                        final Solver solver = new Solver(problem, 0, new Effort(1000, Duration.ofDays(1), () -> false));
                        solver.run();
                        height = solver.height();
                        assertEquals(height, solver.lowerBound());
                        requireApart(problem.bytes(solver.offsets()), blocks, shared, height);
                    } catch (IllegalArgumentException e) {
                        // The sum is too large.
                    }
                    assertEquals(isTooLarge ? -1 : sum.longValue(), height, () -> Arrays.toString(blocks));
                }
            }
        }
    }

    private static void requireApart(long[] offsets, long[] sizes, long alignment, long height) {
        for (int a = 0; a < offsets.length; a++) {
            final long end = Math.addExact(offsets[a], sizes[a]);
            boolean isRight = offsets[a] >= 0 && offsets[a] % alignment == 0 && end <= height;
            for (int b = 0; b < offsets.length; b++) {
                isRight &= a == b || offsets[b] >= end || offsets[a] >= Math.addExact(offsets[b], sizes[b]);
            }
            if (!isRight) {
                throw new AssertionError(Arrays.toString(offsets) + " for " + Arrays.toString(sizes));
            }
        }
    }

    /** Two that do not live together lie on a third: what is below the second is no multiple of its alignment. */
    @Test
    void everyOrderOfPlacingAlignsAboveTheLargestBlocks() {
        for (final long size : boundaries(1L << 62, 0, 1, 8, 40, 41, 60, 61)) {
            for (final long alignment : new long[] {2, 256, 1L << 40}) {
                final long[] blocks = {size, 1, 1};
                final long[] alignments = {1, alignment, alignment};
                final Problem problem = new Problem(new long[] {0, 0, 1}, new long[] {2, 1, 2}, blocks, alignments);
                final Sections sections = new Sections(problem, new int[] {0, 1, 2});
                final int[] ranks = {0, 1, 2};
                final Effort effort = new Effort(1000, Duration.ofDays(1), () -> false);
                final long above = Problem.roundUp(size, alignment);
                for (final long[] offsets : new long[][] {
                    Skyline.place(sections, ranks),
                    Sweep.place(sections, ranks, true, effort),
                    Greedy.place(sections, ranks, Long.MAX_VALUE, effort)
                }) {
                    assertEquals(0, problem.bytes(offsets)[0]);
                    assertEquals(above, problem.bytes(offsets)[1], () -> size + " below " + alignment);
                    assertEquals(above, problem.bytes(offsets)[2]);
                    assertEquals(above + 1, problem.unit * Skyline.height(sections, offsets));
                }
            }
        }
    }
}
