package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Test;

class LaneRegionsTest {
    private final Lanes lanes = new Lanes(new FakeDevice(), null, ArenaConfig.DEFAULT);
    private final Lane main = lanes.main;
    private final Lane low = lanes.add();
    private final Lane high = lanes.add();

    private static LaneRegions with(LaneRegions regions, long start, long byteSize, Lane lane) {
        return regions.withRoom().add(lane, start, byteSize);
    }

    /** Addresses are unsigned: a region may lie in the upper half, across the middle, and at the very end. */
    @Test
    void aRegionIsFoundByEachOfItsAddresses() {
        LaneRegions regions = with(LaneRegions.NONE, -4096, 4096, high);
        regions = with(regions, 0x10_0000, 4096, low);
        regions = with(regions, Long.MIN_VALUE - 4096, 8192, high);
        assertThat(regions.find(0x10_0000, main)).isSameAs(low);
        assertThat(regions.find(0x10_0FFF, main)).isSameAs(low);
        assertThat(regions.find(0x10_1000, main)).isSameAs(main);
        assertThat(regions.find(0xF_FFFF, main)).isSameAs(main);
        assertThat(regions.find(Long.MIN_VALUE - 4096, main)).isSameAs(high);
        assertThat(regions.find(Long.MIN_VALUE + 4095, main)).isSameAs(high);
        assertThat(regions.find(Long.MIN_VALUE + 4096, main)).isSameAs(main);
        assertThat(regions.find(-4096, main)).isSameAs(high);
        assertThat(regions.find(-1, main)).isSameAs(high);
        assertThat(regions.find(0, main)).isSameAs(main);
    }

    @Test
    void aRegionThatLeftIsNotFound() {
        final LaneRegions regions = with(with(LaneRegions.NONE, 4096, 4096, low), 8192, 4096, high);
        assertThat(regions.without(4096).find(4096, main)).isSameAs(main);
        assertThat(regions.without(4096).find(8192, main)).isSameAs(high);
        assertThat(regions.find(4096, main)).as("in the one before").isSameAs(low);
        assertThat(regions.without(12288)).as("nothing to leave").isSameAs(regions);
    }
}
