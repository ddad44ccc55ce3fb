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
}
