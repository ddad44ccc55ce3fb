package allocator.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class GrowthTest {
    @Test
    void theFirstThirdDoesNotCount() {
        final Growth growth = Growth.of(Source.RESIDENT, List.of(1L, 2L, 200_000L, 200_100L, 200_300L, 200_200L));
        assertEquals(new Growth(Source.RESIDENT, 200_100, 200_300), growth);
        assertTrue(growth.isFlat());
        assertEquals("resident: 200100 KiB, then 200300 KiB, flat", growth.toString());
    }

    @Test
    void aSteadyRiseIsNotFlat() {
        final List<Long> rising =
                LongStream.range(0, 60).mapToObj(i -> 100_000 + 100 * i).toList();
        assertFalse(Growth.of(Source.RESIDENT, rising).isFlat());
    }

    @Test
    void lessThanAMebibyteIsFlat() {
        assertTrue(new Growth(Source.RESIDENT, 5000, 6000).isFlat());
        assertFalse(new Growth(Source.RESIDENT, 5000, 6100).isFlat());
    }

    @Test
    void whatIsNotJudgedIsNoLeakHoweverItGrows() {
        final Growth growth = new Growth(Source.KEPT, 5000, 60_000);
        assertFalse(growth.isLeak());
        assertEquals("malloc free: 5000 KiB, then 60000 KiB, not judged", growth.toString());
        assertTrue(new Growth(Source.IN_USE, 5000, 60_000).isLeak());
        assertFalse(new Growth(Source.IN_USE, 5000, 5000).isLeak());
    }

    @Test
    void needsThreeSamples() {
        assertThrows(IllegalArgumentException.class, () -> Growth.of(Source.RESIDENT, List.of(1L, 2L)));
    }
}
