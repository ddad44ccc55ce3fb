package allocator.arena.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class SizesByAddressTest {
    private final SizesByAddress sizes = new SizesByAddress();

    @Test
    void anAllocationIsFoundByEveryAddressInIt() {
        sizes.put(1000, 100);
        sizes.put(-1000, 100);

        assertThat(sizes.containing(1000)).isEqualTo(Map.entry(1000L, 100L));
        assertThat(sizes.containing(1099)).isEqualTo(Map.entry(1000L, 100L));
        assertThat(sizes.containing(-901)).isEqualTo(Map.entry(-1000L, 100L));
        for (final long address : new long[] {0, 999, 1100, Long.MAX_VALUE, Long.MIN_VALUE, -1001, -900, -1}) {
            assertThat(sizes.containing(address)).isNull();
        }
    }

    @Test
    void anAllocationIsRemovedByItsStartOnly() {
        sizes.put(1000, 100);

        assertThat(sizes.remove(1001)).isEqualTo(-1);
        assertThat(sizes.sizeOf(1000)).isEqualTo(100);
        assertThat(sizes.remove(1000)).isEqualTo(100);
        assertThat(sizes.sizeOf(1000)).isEqualTo(-1);
        assertThat(sizes.count()).isZero();
    }

    @Test
    void whatOverlapsIsRemoved() {
        sizes.put(1000, 100);
        sizes.put(1100, 100);
        sizes.put(1200, 100);
        sizes.put(1300, 100);

        assertThat(sizes.removeOverlapping(1099, 102)).isEqualTo(300);
        assertThat(sizes.totalBytes()).isEqualTo(100);
        assertThat(sizes.removeOverlapping(1400, 1000)).isZero();
        assertThat(sizes.removeOverlapping(1200, 100)).isZero();
        assertThat(sizes.removeOverlapping(1399, 1)).isEqualTo(100);
    }
}
