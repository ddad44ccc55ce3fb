package allocator.bench.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class CostsTest {
    @Test
    void aCostThatGrowsWithTheNumberHasPowerOne() {
        final Costs linear = new Costs("end", List.of(10.0, 100.0, 1000.0));
        assertEquals(1, linear.power(), 1e-9);
        assertTrue(linear.growsWithNumber());
        assertEquals("| end | 10.0 | 100 | 1,000 | 1.00 **grows** |", linear.toRow());
    }

    @Test
    void aLogarithmDoesNotGrowWithTheNumber() {
        final Costs logarithm = new Costs("end", List.of(4.0, 5.0, 6.0));
        assertEquals(0.097, logarithm.power(), 0.0005);
        assertFalse(logarithm.growsWithNumber());
        assertEquals("| end | 4.0 | 5.0 | 6.0 | 0.10 |", logarithm.toRow());
    }

    /** What is linear besides a constant shows in the last step only; what the memory bounds, in the first only. */
    @Test
    void theSteeperStepDecides() {
        assertTrue(new Costs("run", List.of(1000.0, 1100.0, 9000.0)).growsWithNumber());
        assertTrue(new Costs("run", List.of(10.0, 100.0, 300.0)).growsWithNumber());
        assertFalse(new Costs("run", List.of(100.0, 300.0, 900.0)).growsWithNumber());
    }
}
