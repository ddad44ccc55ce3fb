package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class SizeClassesTest {
    @Property
    void aSizeLiesBetweenItsClasses(@ForAll @LongRange(min = 1, max = Chunks.MAX_REGION_UNITS) long units) {
        final long below = SizeClasses.units(SizeClasses.atMost(units));
        final long above = SizeClasses.units(SizeClasses.atLeast(units));
        assertThat(below).isLessThanOrEqualTo(units);
        assertThat(above).isGreaterThanOrEqualTo(units);
        assertThat(SizeClasses.atLeast(units) - SizeClasses.atMost(units)).isBetween(0, 1);
        assertThat(above - units).as("waste").isLessThanOrEqualTo(units / 8);
    }

    @Property
    void aClassIsThatOfItsSize(@ForAll @IntRange(min = 1, max = 300) int sizeClass) {
        final long units = SizeClasses.units(sizeClass);
        assertThat(SizeClasses.atMost(units)).isEqualTo(sizeClass);
        assertThat(SizeClasses.atLeast(units)).isEqualTo(sizeClass);
        assertThat(SizeClasses.units(sizeClass + 1)).isGreaterThan(units);
    }

    @Test
    void smallSizesAreExact() {
        for (int units = 1; units <= 16; units++) {
            assertThat(SizeClasses.units(SizeClasses.atLeast(units))).isEqualTo(units);
        }
        assertThat(SizeClasses.units(SizeClasses.atLeast(17))).isEqualTo(18);
    }

    @Test
    void theLargestRegionHasAClass() {
        assertThat(SizeClasses.atMost(Chunks.MAX_REGION_UNITS)).isLessThan(SizeClasses.COUNT);
    }
}
