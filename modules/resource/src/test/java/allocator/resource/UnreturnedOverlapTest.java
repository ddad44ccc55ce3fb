package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Unreturned memory that a resource hands out again as part of a larger block. */
class UnreturnedOverlapTest {
    @Test
    void allOfItThatABlockOverlapsIsUnreturnedNoMore() {
        final FakeResource large = new FakeResource(1L << 40);
        final ResourceAllocator top = ResourceAllocator.of(large);
        final List<Long> blocks = List.of(top.alloc(100), top.alloc(100), top.alloc(100));
        large.afterFree(() -> {
            throw new DeviceException("planted", null);
        });
        blocks.forEach(block -> assertThatThrownBy(() -> top.free(block)).isInstanceOf(DeviceException.class));
        assertThat(top.stats().bytesHeld()).isEqualTo(300);
        final long all = blocks.getLast() - blocks.getFirst() + 1;
        assertThat(top.alloc(all)).isEqualTo(blocks.getFirst());
        assertThat(top.stats().bytesHeld()).isEqualTo(all);
    }
}
