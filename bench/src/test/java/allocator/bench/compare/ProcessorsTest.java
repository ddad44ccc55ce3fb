package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProcessorsTest {
    @Test
    void eachLaneHasItsShare() {
        final Processors processors = new Processors(7, 3);
        assertEquals(List.of("taskset", "--cpu-list", "0-1"), processors.of(0));
        assertEquals(List.of("taskset", "--cpu-list", "4-5"), processors.of(2));
    }

    @Test
    void aSingleLaneIsNotBound() {
        assertEquals(List.of(), new Processors(7, 1).of(0));
    }

    @Test
    void noLaneIsWithoutAProcessor() {
        assertThrows(IllegalArgumentException.class, () -> new Processors(2, 3));
        assertThrows(IllegalArgumentException.class, () -> new Processors(2, 0));
    }
}
