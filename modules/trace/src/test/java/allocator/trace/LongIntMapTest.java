package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class LongIntMapTest {
    /** Puts {@code value}, or removes if it is negative. */
    record Step(long key, int value) {}

    @Property
    void agreesWithAHashMap(@ForAll("steps") List<Step> steps) {
        final LongIntMap map = new LongIntMap();
        final Map<Long, Integer> model = new HashMap<>();
        for (final Step step : steps) {
            if (step.value < 0) {
                final Integer removed = model.remove(step.key);
                assertThat(map.remove(step.key)).isEqualTo(removed == null ? LongIntMap.NONE : removed);
            } else {
                map.put(step.key, step.value);
                model.put(step.key, step.value);
            }
            assertThat(map.size()).isEqualTo(model.size());
        }
        steps.forEach(step -> assertThat(map.get(step.key)).isEqualTo(model.getOrDefault(step.key, LongIntMap.NONE)));
    }

    /** Few keys, so that they meet again, and many steps, so that the table grows and entries move. */
    @Provide
    Arbitrary<List<Step>> steps() {
        final Arbitrary<Long> keys = Arbitraries.oneOf(
                Arbitraries.longs().between(0, 2000),
                Arbitraries.longs().between(0, 2000).map(n -> n * 4096),
                Arbitraries.longs().greaterOrEqual(0));
        return Combinators.combine(keys, Arbitraries.integers().between(-1000, 2000))
                .as(Step::new)
                .list()
                .ofMaxSize(3000);
    }

    @Test
    void keysThatCollideUnderAMultiplicationDoNot() {
        final int count = 100_000;
        final long inverseOfGoldenRatio = 0xF1DE83E19937733DL;
        final LongIntMap map = new LongIntMap();
        for (int i = 0; i < count; i++) {
            map.put(i * inverseOfGoldenRatio, i);
        }
        assertThat(map.mostProbes()).isLessThan(1000);
        for (int i = 0; i < count; i++) {
            assertThat(map.get(i * inverseOfGoldenRatio)).isEqualTo(i);
        }
    }

    @Test
    void aTableShrinksWhenItsKeysAreRemoved() {
        final LongIntMap map = new LongIntMap();
        final int before = map.cells();
        for (int i = 0; i < 100_000; i++) {
            map.put(i, i);
        }
        assertThat(map.cells()).isGreaterThan(100_000);
        for (int i = 0; i < 100_000; i++) {
            assertThat(map.remove(i)).isEqualTo(i);
        }
        assertThat(map.cells()).isEqualTo(before);
    }
}
