package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class SizeClassesTest {
    @Property
    void aSizeLiesBetweenItsClasses(@ForAll @LongRange(min = 1, max = Chunks.MAX_REGION_GRANULES) long granules) {
        final long below = SizeClasses.granules(SizeClasses.atMost(granules));
        final long above = SizeClasses.granules(SizeClasses.atLeast(granules));
        assertThat(below).isLessThanOrEqualTo(granules);
        assertThat(above).isGreaterThanOrEqualTo(granules);
        assertThat(SizeClasses.atLeast(granules) - SizeClasses.atMost(granules)).isBetween(0, 1);
        assertThat(above - granules).as("waste").isLessThanOrEqualTo(granules / 8);
    }

    @Property
    void aClassIsThatOfItsSize(@ForAll @IntRange(min = 1, max = 300) int sizeClass) {
        final long granules = SizeClasses.granules(sizeClass);
        assertThat(SizeClasses.atMost(granules)).isEqualTo(sizeClass);
        assertThat(SizeClasses.atLeast(granules)).isEqualTo(sizeClass);
        assertThat(SizeClasses.granules(sizeClass + 1)).isGreaterThan(granules);
    }

    @Test
    void smallSizesAreExact() {
        for (int granules = 1; granules <= 16; granules++) {
            assertThat(SizeClasses.granules(SizeClasses.atLeast(granules))).isEqualTo(granules);
        }
        assertThat(SizeClasses.granules(SizeClasses.atLeast(17))).isEqualTo(18);
    }

    @Test
    void theLargestRegionHasAClass() {
        assertThat(SizeClasses.atMost(Chunks.MAX_REGION_GRANULES)).isLessThan(SizeClasses.COUNT);
    }
}
