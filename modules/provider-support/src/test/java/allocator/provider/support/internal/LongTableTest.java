package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LongTableTest {
    private final LongTable<String> table = new LongTable<>(true);
    private final Map<Long, Long> model = new HashMap<>();

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void aTableAgreesWithAMapAfterEveryCall(long seed) {
        final Random random = new Random(seed);
        for (int phase = 0; phase < 6; phase++) {
            final int likelihoodOfAdding = phase % 2 == 0 ? 70 : 25; // grows, then becomes smaller
            for (int call = 0; call < 400; call++) {
                final long address = 0x7F00_0000_0000L + 256L * random.nextInt(600);
                if (random.nextInt(100) < likelihoodOfAdding) {
                    add(address, random.nextLong());
                } else {
                    remove(address, random);
                }
                requireSame(address);
            }
            requireAllSame();
        }
    }

    private void add(long address, long value) {
        table.expect();
        if (model.putIfAbsent(address, value) == null) {
            table.add(address, value, Long.toString(value));
        } else {
            table.expectNoMore();
        }
    }

    private void remove(long address, Random random) {
        final int slot = table.find(address);
        if (slot < 0) {
            return;
        }
        if (random.nextBoolean()) {
            table.remove(slot);
            model.remove(address);
        } else {
            final long value = table.value(slot);
            table.removeForNow(slot);
            assertThat(table.find(address)).isEqualTo(-1);
            table.add(address, value + 1, Long.toString(value + 1));
            model.put(address, value + 1);
        }
    }

    private void requireSame(long address) {
        final int slot = table.find(address);
        assertThat(slot >= 0).isEqualTo(model.containsKey(address));
        assertThat(table.count()).isEqualTo(model.size());
        if (slot >= 0) {
            assertThat(table.address(slot)).isEqualTo(address);
            assertThat(table.value(slot)).isEqualTo(model.get(address));
            assertThat(table.attachment(slot)).isEqualTo(Long.toString(table.value(slot)));
        }
    }

    private void requireAllSame() {
        final List<Long> addresses = new ArrayList<>();
        for (final long address : table.addresses()) {
            addresses.add(address);
            requireSame(address);
        }
        assertThat(addresses).containsExactlyInAnyOrderElementsOf(model.keySet());
        assertThat(2 * table.count()).isLessThanOrEqualTo(table.capacity());
    }
}
