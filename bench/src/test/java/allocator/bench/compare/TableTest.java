package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TableTest {
    private final Map<Cell, Pairs> measured = new LinkedHashMap<>();

    private void add(Cell cell, double... nanosOfB) {
        final Pairs pairs = new Pairs();
        for (final double nanos : nanosOfB) {
            pairs.add(List.of(100.0), List.of(nanos));
        }
        measured.put(cell, pairs);
    }

    @Test
    void eachRowHasItsRatioItsIntervalAndItsVerdict() {
        add(new Cell("arena", 1, "large"), 110, 110, 110, 110, 110, 110, 110, 112);
        add(new Cell("session", 2, "replay"), 90, 90, 90, 90, 90, 90, 90, 91);
        add(new Cell("bridge", 1, "small"), 99, 99, 99, 100, 100, 100, 100, 104);
        add(new Cell("bridge", 1, "bert"), 99);

        assertEquals("""
                workload       subject               A ns      B ns  pairs   B / A      99 % interval  verdict
                large          arena                100.0     110.0      8   1.100     [1.100, 1.120]  slower
                replay         session:2            100.0      90.0      8   0.900     [0.900, 0.910]  pass
                small          bridge               100.0     100.0      8   0.997     [0.990, 1.040]  undecided: needs more rounds
                bert           bridge               100.0      99.0      1   0.990      too few pairs  undecided: needs more rounds
                """, Table.of(measured, 1.03));
    }
}
