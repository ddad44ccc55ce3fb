package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.Limit;
import allocator.testkit.FakeDevice;
import java.util.List;
import org.junit.jupiter.api.Test;

class BlockRegionsTest {
    private static final BumpLane LANE = new BumpLane(null, 256);

    @Test
    void theRegionOfAnAddressIsFoundInUnsignedOrder() {
        final List<Long> addresses = List.of(-4096L, 1L << 20, Long.MIN_VALUE, 1L << 16);
        final FakeDevice scattered = new FakeDevice() {
            private int calls;

            @Override
            public synchronized long alloc(long byteSize) {
                return addresses.get(calls++);
            }
        };
        final BlockRegions regions =
                new BlockRegions(new UpstreamMemory(scattered, Limit.NONE), BumpConfig.growing(256));
        for (final long address : addresses) {
            final BlockRegion region = regions.take(1, LANE);
            assertThat(region).isNotNull();
            assertThat(region.base()).isEqualTo(address);
        }
        for (final long address : addresses) {
            final BlockRegion region = regions.find(address);
            assertThat(region).isNotNull().isSameAs(regions.find(address + 255));
            assertThat(region.base()).isEqualTo(address);
            assertThat(regions.find(address + 256)).isNull();
            assertThat(regions.find(address - 1)).isNull();
        }
        assertThat(regions.count()).isEqualTo(4);
    }
}
