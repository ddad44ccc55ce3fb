package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class SizeOrderTest {
    private static final long MAX = Chunks.MAX_REGION_GRANULES;

    @Property
    void theLargerChunkHasTheLargerKey(
            @ForAll @LongRange(min = 1, max = MAX) long granules,
            @ForAll @LongRange(min = 1, max = MAX) long others,
            @ForAll long address,
            @ForAll long otherAddress) {
        if (granules < others) {
            assertThat(SizeOrder.key(granules, address)).isLessThan(SizeOrder.key(others, otherAddress));
        }
    }

    /** Two chunks of one size that do not overlap are at least that size apart. */
    @Property
    void amongEqualSizesTheHigherAddressHasTheLargerKey(
            @ForAll @LongRange(min = 1, max = MAX) long granules,
            @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long address) {
        final long next = address + Granules.toBytes(granules);

        assertThat(SizeOrder.key(granules, address)).isLessThan(SizeOrder.key(granules, next));
    }

    @Property
    void aSearchBeginsAtTheFirstChunkThatFits(
            @ForAll @LongRange(min = 2, max = MAX) long granules, @ForAll long address) {
        assertThat(SizeOrder.key(granules, address)).isGreaterThanOrEqualTo(SizeOrder.first(granules));
        assertThat(SizeOrder.key(granules - 1, address)).isLessThan(SizeOrder.first(granules));
    }

    @Property
    void aKeyTellsTheSize(@ForAll @LongRange(min = 1, max = MAX) long granules, @ForAll long address) {
        assertThat(SizeOrder.granules(SizeOrder.key(granules, address))).isEqualTo(granules);
    }

    @Test
    void keysAreNeverNegative() {
        assertThat(SizeOrder.first(1)).isZero();
        assertThat(SizeOrder.key(MAX, -1)).isPositive().isLessThan(SizeOrder.END);
    }

    @Test
    void everyBoundaryOfSizesAndAddressesIsInOrder() {
        final long[] addresses = Boundaries.within(Long.MIN_VALUE, Long.MAX_VALUE);
        for (final long granules : Boundaries.within(1, MAX)) {
            final long first = SizeOrder.first(granules);
            assertThat(granules == 1 || SizeOrder.key(granules - 1, -1) < first).isTrue();
            for (final long address : addresses) {
                final long key = SizeOrder.key(granules, address);
                if (key < first || key == SizeOrder.END || SizeOrder.granules(key) != granules) {
                    throw new AssertionError(granules + " granules at " + address);
                }
            }
        }
    }
}
