package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class SizesByAddressTest {
    private final SizesByAddress blocks = new SizesByAddress();

    @Test
    void aBlockIsFoundByEveryAddressInIt() {
        blocks.put(1000, 100);
        blocks.put(-1000, 100);

        assertThat(blocks.containing(1000)).isEqualTo(Map.entry(1000L, 100L));
        assertThat(blocks.containing(1099)).isEqualTo(Map.entry(1000L, 100L));
        assertThat(blocks.containing(-901)).isEqualTo(Map.entry(-1000L, 100L));
        for (final long address : new long[] {0, 999, 1100, Long.MAX_VALUE, Long.MIN_VALUE, -1001, -900, -1}) {
            assertThat(blocks.containing(address)).isNull();
        }
    }

    @Test
    void aBlockIsRemovedByItsStartOnly() {
        blocks.put(1000, 100);

        assertThat(blocks.remove(1001)).isEqualTo(-1);
        assertThat(blocks.sizeOf(1000)).isEqualTo(100);
        assertThat(blocks.remove(1000)).isEqualTo(100);
        assertThat(blocks.sizeOf(1000)).isEqualTo(-1);
        assertThat(blocks.count()).isZero();
    }

    @Test
    void whatOverlapsIsRemoved() {
        blocks.put(1000, 100);
        blocks.put(1100, 100);
        blocks.put(1200, 100);
        blocks.put(1300, 100);

        assertThat(blocks.removeOverlapping(1099, 102)).isEqualTo(300);
        assertThat(blocks.totalBytes()).isEqualTo(100);
        assertThat(blocks.removeOverlapping(1400, 1000)).isZero();
        assertThat(blocks.removeOverlapping(1200, 100)).isZero();
        assertThat(blocks.removeOverlapping(1399, 1)).isEqualTo(100);
    }
}
