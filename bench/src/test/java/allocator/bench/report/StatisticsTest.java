package allocator.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
}
