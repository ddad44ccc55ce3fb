package allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PlanTest {
    private static final Instance INSTANCE =
            new Instance(List.of(new Lifetime(0, 4, 100, 1), new Lifetime(5, 9, 200, 64), new Lifetime(0, 9, 30, 1)));

    /** A plan that lays blocks on one another. */
    private static Plan plan(int... blocks) {
        final long[] offsets = new long[blocks.length];
        long height = 0;
        for (int i = 0; i < blocks.length; i++) {
            offsets[i] = height;
            height += INSTANCE.lifetime(blocks[i]).byteSize();
        }
        return new Plan(offsets, height, height, 0);
    }

    @Test
    void stackedGroupsShareNoMemory() {
        final Plan stacked = Plan.stacked(INSTANCE, List.of(List.of(2, 0), List.of(1)), List.of(plan(2, 0), plan(1)));
        assertThat(stacked.offsets()).containsExactly(30, 192, 0);
        assertThat(stacked.height()).isEqualTo(392);
        assertThat(stacked.lowerBound()).isEqualTo(330);
    }

    @Test
    void groupsThatDoNotCoverTheInstanceAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Plan.stacked(INSTANCE, List.of(List.of(0)), List.of(plan(0))))
                .withMessage("1 blocks in groups, 3 in the instance");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Plan.stacked(INSTANCE, List.of(List.of(0)), List.of()))
                .withMessage("0 plans for 1 groups");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Plan.stacked(INSTANCE, List.of(List.of(0, 1)), List.of(plan(0))))
                .withMessage("group 0 has 2 blocks, its plan 1");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Plan.stacked(INSTANCE, List.of(List.of(0, 1), List.of(1)), List.of(plan(0, 1), plan(1))))
                .withMessage("block 1 is in a group twice");
    }

    @Test
    void plansOfTheSameOffsetsAreEqual() {
        assertThat(plan(0, 1))
                .isEqualTo(plan(0, 1))
                .hasSameHashCodeAs(plan(0, 1))
                .isNotEqualTo(plan(0, 2));
        assertThat(plan(0, 2)).hasToString("2 blocks in 130 bytes, at least 130");
    }

    private static long[] boundaries(long most) {
        return LongStream.of(0, 1, 8, 12, 31, 32, 40, 61, 62, 63)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(number -> number >= 0 && number <= most)
                .distinct()
                .toArray();
    }

    /** It is rejected where the alignment might be all that is too much. */
    @Test
    void aGroupBeginsAtTheNextMultipleOrIsRejectedIfThePlanWouldOverflow() {
        for (final long alignment : new long[] {1, 2, 256, Lifetime.MAX_ALIGNMENT}) {
            final Instance two = new Instance(List.of(new Lifetime(0, 1, 1, 1), new Lifetime(0, 1, 1, alignment)));
            for (final long below : boundaries(Long.MAX_VALUE)) {
                for (final long above : boundaries(Long.MAX_VALUE)) {
                    long height = -1;
                    try {
                        final Plan stacked = Plan.stacked(
                                two,
                                List.of(List.of(0), List.of(1)),
                                List.of(new Plan(new long[1], below, 0, 0), new Plan(new long[1], above, 0, 0)));
                        height = stacked.height();
                        final long base = stacked.offset(1);
                        assertTrue(base >= below && base - below < alignment && base % alignment == 0);
                        assertEquals(Math.addExact(base, above), height);
                    } catch (IllegalArgumentException e) {
                        // The sum is too large.
                    }
                    final BigInteger most = BigInteger.valueOf(below)
                            .add(BigInteger.valueOf(above))
                            .add(BigInteger.valueOf(alignment));
                    assertEquals(most.bitLength() >= Long.SIZE, height == -1, () -> "" + most);
                }
            }
        }
    }

    @Test
    void aBlockIsAtFaultWhereItsEndExceedsTheLargestNumberOrItsOffsetIsNoMultiple() {
        for (final long byteSize : boundaries(Lifetime.MAX_SIZE)) {
            for (final long alignment : new long[] {1, 256, Lifetime.MAX_ALIGNMENT}) {
                final Instance one = new Instance(List.of(new Lifetime(0, 1, Math.max(1, byteSize), alignment)));
                final BigInteger size = BigInteger.valueOf(one.lifetime(0).byteSize());
                for (final long offset : boundaries(Long.MAX_VALUE)) {
                    final BigInteger end = BigInteger.valueOf(offset).add(size);
                    final PlanCheck check = PlanCheck.of(List.of("a"), one, new long[] {offset});
                    final boolean isWithin = end.bitLength() < Long.SIZE;
                    assertEquals(
                            !isWithin || offset % alignment != 0, check.fault().isPresent());
                    assertEquals(isWithin ? end.longValue() : Long.MAX_VALUE, check.height());
                }
                assertTrue(PlanCheck.of(List.of("a"), one, new long[] {Long.MIN_VALUE})
                        .fault()
                        .isPresent());
            }
        }
    }

    @Test
    void twoBlocksAreAtFaultIfTheyShareAByteAtEveryDistance() {
        for (final long byteSize : boundaries(Lifetime.MAX_SIZE)) {
            final Lifetime block = new Lifetime(0, 1, Math.max(1, byteSize));
            final Instance two = new Instance(List.of(block, block));
            final long most = Long.MAX_VALUE - block.byteSize();
            for (final long low : new long[] {0, 1, most / 2, most - 1, most}) {
                for (final long distance : boundaries(most - low)) {
                    final boolean isShared = distance < block.byteSize();
                    final long[] rising = {low, low + distance};
                    final long[] falling = {low + distance, low};
                    assertEquals(
                            isShared,
                            PlanCheck.of(List.of("a", "b"), two, rising).fault().isPresent());
                    assertEquals(
                            isShared,
                            PlanCheck.of(List.of("a", "b"), two, falling)
                                    .fault()
                                    .isPresent());
                }
            }
        }
    }
}
