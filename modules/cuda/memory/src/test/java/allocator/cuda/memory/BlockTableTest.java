package allocator.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class BlockTableTest {
    private final BlockTable table = new BlockTable(true);

    /** A number adds the block at its address if there is none, and removes it if there is one. */
    @Property
    void itKnowsWhatAMapKnows(@ForAll @Size(max = 3000) List<@IntRange(min = 1, max = 700) Integer> steps) {
        final BlockTable blocks = new BlockTable(true);
        final Map<Long, Long> model = new HashMap<>();
        for (int step : steps) {
            final long address = step * 512L;
            if (model.remove(address) == null) {
                model.put(address, step + 7L);
                blocks.ensureRoom(1);
                blocks.add(address, step + 7L, null);
            } else {
                blocks.remove(blocks.find(address));
            }
        }
        assertThat(blocks.count()).isEqualTo(model.size());
        assertThat(blocks.all()).containsExactlyInAnyOrder(model.keySet().toArray(new Long[0]));
        for (long address = 512; address <= 700 * 512L; address += 512) {
            final int handle = blocks.find(address);
            assertThat(handle == BlockTable.NONE ? null : (Long) blocks.size(handle))
                    .isEqualTo(model.get(address));
        }
    }

    @Test
    void anAddressWithinABlockLeadsToItsStart() {
        table.ensureRoom(1);
        table.add(0x1000, 256, null);
        assertThat(table.startOf(0x1000 + 255)).isEqualTo(0x1000);
        assertThat(table.startOf(0x1000 + 256)).isZero();
        assertThat(table.startOf(0xfff)).isZero();
    }

    @Test
    void blocksThatOverlapARangeAreRemoved() {
        table.ensureRoom(4);
        table.add(0x1000, 256, null);
        table.add(0x1100, 256, null);
        table.add(0x1200, 256, null);
        table.add(0x1300, 256, null);
        table.removeOverlapping(0xF00, 256);
        table.removeOverlapping(0x1400, 256);
        assertThat(table.count()).isEqualTo(4);
        table.removeOverlapping(0x11FF, 2);
        assertThat(table.all()).containsExactlyInAnyOrder(0x1000L, 0x1300L);
    }

    @Test
    void theTableShrinksAgainAndKeepsTheRoomAskedFor() {
        for (int i = 1; i <= 5000; i++) {
            table.ensureRoom(1);
            table.add(i * 256L, 256, null);
        }
        for (int i = 1; i <= 5000; i++) {
            table.ensureRoom(100);
            table.remove(table.find(i * 256L));
        }
        for (int i = 1; i <= 100; i++) {
            table.add(i * 256L, 256, null); // an assertion fails if there is no room
        }
        assertThat(table.count()).isEqualTo(100);
    }
}
