package allocator.resource.base;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class AddressTableTest {
    private static final int ENTRIES = 40;
    private static final long BYTES = 0x100;

    @Nested
    class Overlaps {
        private final AddressTable<String> table = new AddressTable<>();

        private void addNeighbours() {
            for (int i = 1; i <= ENTRIES; i++) {
                table.add(i * BYTES, BYTES, null);
            }
        }

        @Test
        void everyEntryThatSharesAByteIsRemoved() {
            addNeighbours();
            assertThat(table.removeOverlapping(2 * BYTES - 1, 2 * BYTES + 2)).isEqualTo(4 * BYTES);
            assertThat(table.count()).isEqualTo(ENTRIES - 4);
            assertThat(Arrays.stream(table.addresses()).filter(address -> address < 6 * BYTES))
                    .containsExactly(5 * BYTES);
        }

        @Test
        void entriesThatOnlyTouchTheRangeStay() {
            addNeighbours();
            assertThat(table.removeOverlapping((ENTRIES + 1) * BYTES, BYTES)).isZero();
            assertThat(table.removeOverlapping(1, BYTES - 1)).isZero();
            assertThat(table.count()).isEqualTo(ENTRIES);
        }

        @Test
        void aRangeWithinAnEntryRemovesIt() {
            table.add(BYTES, BYTES, "block");
            assertThat(table.removeOverlapping(BYTES + 8, 8)).isEqualTo(BYTES);
            assertThat(table.find(BYTES)).isEqualTo(-1);
        }

        @Test
        void allEntriesAreRemovedWhereverTheyMoveMeanwhile() {
            addNeighbours();
            assertThat(table.removeOverlapping(BYTES, ENTRIES * BYTES)).isEqualTo(ENTRIES * BYTES);
            assertThat(table.count()).isZero();
            assertThat(table.addresses()).isEmpty();
        }
    }
}
