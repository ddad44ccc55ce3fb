package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class SortedTableTest {
    /** Random programs against a map of the JDK. */
    @Test
    void entriesAreFoundInOrder() {
        final SortedTable<String> table = new SortedTable<>();
        final TreeMap<Long, String> model = new TreeMap<>();
        final Random random = new Random(3);
        for (int step = 0; step < 20_000; step++) {
            final long key = random.nextInt(1000) - 500;
            final Map.Entry<Long, String> below = model.floorEntry(key);
            final int floor = table.floor(key);
            assertThat(floor < 0 ? null : table.get(floor)).isEqualTo(below == null ? null : below.getValue());
            if (model.remove(key) != null) {
                table.remove(table.find(key));
            } else {
                assertThat(table.find(key)).isNegative();
                table.ensureRoom(1);
                table.add(key, "entry " + key);
                model.put(key, "entry " + key);
            }
            assertThat(table.count()).isEqualTo(model.size());
        }
        for (int index = 0; index < table.count(); index++) {
            assertThat(table.get(index)).isEqualTo(model.pollFirstEntry().getValue());
        }
    }
}
