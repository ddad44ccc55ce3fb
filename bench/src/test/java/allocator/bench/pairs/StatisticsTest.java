package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StatisticsTest {
    @Test
    void theMedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle() {
        assertEquals(3, Statistics.median(List.of(9.0, 1.0, 3.0)));
        assertEquals(2.5, Statistics.median(List.of(9.0, 1.0, 3.0, 2.0)));
        assertEquals(Double.NaN, Statistics.median(List.of()));
        assertEquals(1, Statistics.min(List.of(9.0, 1.0)));
        assertEquals(9, Statistics.max(List.of(9.0, 1.0)));
        assertEquals(Double.NaN, Statistics.max(List.of()));
    }

    @Test
    void aRatioIsThatOfThePairsAndNotOfTheMedians() {
        // The machine became four times slower half way; B takes half as long throughout, but once.
        final Statistics.Estimate ratio = Statistics.pairedRatio(
                List.of(100.0, 100.0, 100.0, 400.0, 400.0), List.of(50.0, 50.0, 90.0, 200.0, 200.0));

        assertEquals(0.5, ratio.value());
        assertEquals(0.5, ratio.low());
        assertEquals(0.9, ratio.high(), 1e-12);
    }

    @Test
    void theIntervalHoldsTheTrueRatioAboutNineteenTimesInTwenty() {
        final SplitMix64 random = new SplitMix64(7);
        int hits = 0;
        for (int experiment = 0; experiment < 200; experiment++) {
            final List<Double> a = new ArrayList<>();
            final List<Double> b = new ArrayList<>();
            for (int i = 0; i < 15; i++) {
                a.add(100.0 + random.nextInt(20));
                b.add((100.0 + random.nextInt(20)) * 1.2);
            }
            final Statistics.Estimate ratio = Statistics.pairedRatio(a, b);
            assertTrue(ratio.low() <= ratio.value() && ratio.value() <= ratio.high(), ratio::toString);
            hits += ratio.low() <= 1.2 && 1.2 <= ratio.high() ? 1 : 0;
        }
        assertTrue(hits >= 180 && hits < 200, "held " + hits + " times of 200");
    }

    @Test
    void theIntervalIsTheSameEachTime() {
        final List<Double> a = List.of(1.0, 2.0, 3.0, 4.0);
        final List<Double> b = List.of(2.0, 3.0, 5.0, 1.0);

        assertEquals(Statistics.pairedRatio(a, b), Statistics.pairedRatio(a, b));
    }

    @Test
    void valuesThatCannotBePairedAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> Statistics.pairedRatio(List.of(), List.of()));
        assertThrows(IllegalArgumentException.class, () -> Statistics.pairedRatio(List.of(1.0), List.of(1.0, 2.0)));
    }
}
