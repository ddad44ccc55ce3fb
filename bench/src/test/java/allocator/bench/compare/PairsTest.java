package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class PairsTest {
    private final Pairs pairs = new Pairs();

    @Test
    void theRatioIsThatOfWindowsInTurnAndNotThatOfTheMedians() {
        // The machine became four times slower half way; B takes half as long throughout, but once.
        pairs.add(List.of(100.0, 100.0, 100.0, 400.0, 400.0), List.of(50.0, 50.0, 90.0, 200.0, 200.0));

        assertEquals(0.5, pairs.lastRatio());
        assertEquals(0.5, pairs.ratio().value(), 1e-12);
        assertEquals(100, pairs.medianOfA());
        assertEquals(90, pairs.medianOfB());
    }

    @Test
    void eachPairCountsOnceHoweverManyWindowsItHas() {
        pairs.add(List.of(1.0), List.of(2.0));
        pairs.add(List.of(2.0, 2.0, 2.0), List.of(1.0, 1.0, 1.0));

        assertEquals(2, pairs.count());
        assertEquals(1, pairs.ratio().value(), 1e-12);
    }

    @Test
    void withoutPairsNothingIsDecided() {
        assertEquals(Verdict.UNDECIDED, pairs.verdict(1.03));
    }

    @Test
    void windowsThatCannotBePairedAreRejected() {
        assertThrows(IllegalArgumentException.class, () -> pairs.add(List.of(), List.of()));
        assertThrows(IllegalArgumentException.class, () -> pairs.add(List.of(1.0), List.of(1.0, 2.0)));
    }
}
