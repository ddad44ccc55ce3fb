package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class SizeOrderTest {
    private static final long MAX = Chunks.MAX_REGION_UNITS;

    @Property
    void theLargerChunkHasTheLargerKey(
            @ForAll @LongRange(min = 1, max = MAX) long units,
            @ForAll @LongRange(min = 1, max = MAX) long others,
            @ForAll long address,
            @ForAll long otherAddress) {
        if (units < others) {
            assertThat(SizeOrder.key(units, address)).isLessThan(SizeOrder.key(others, otherAddress));
        }
    }

    /** Two chunks of one size that do not overlap are at least that size apart. */
    @Property
    void amongEqualSizesTheHigherAddressHasTheLargerKey(
            @ForAll @LongRange(min = 1, max = MAX) long units,
            @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long address) {
        final long next = address + Units.toBytes(units);

        assertThat(SizeOrder.key(units, address)).isLessThan(SizeOrder.key(units, next));
    }

    @Property
    void aSearchBeginsAtTheFirstChunkThatFits(@ForAll @LongRange(min = 2, max = MAX) long units, @ForAll long address) {
        assertThat(SizeOrder.key(units, address)).isGreaterThanOrEqualTo(SizeOrder.first(units));
        assertThat(SizeOrder.key(units - 1, address)).isLessThan(SizeOrder.first(units));
    }

    @Property
    void aKeyTellsTheSize(@ForAll @LongRange(min = 1, max = MAX) long units, @ForAll long address) {
        assertThat(SizeOrder.units(SizeOrder.key(units, address))).isEqualTo(units);
    }

    @Test
    void keysAreNeverNegative() {
        assertThat(SizeOrder.first(1)).isZero();
        assertThat(SizeOrder.key(MAX, -1)).isPositive().isLessThan(SizeOrder.END);
    }
}
