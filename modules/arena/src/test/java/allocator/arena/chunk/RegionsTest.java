package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RegionsTest {
    private final Regions regions = new Regions();

    private Region add(long base, long granules) {
        regions.ensureSpare();
        final Region region = new Region(regions.freeId(), granules, false);
        region.setBase(base);
        regions.add(region);
        return region;
    }

    @Test
    void nothingIsFoundInNoRegions() {
        assertThat(regions.find(0)).isNull();
        assertThat(regions.find(-1)).isNull();
    }

    @Test
    void addressesAreUnsigned() {
        final Region low = add(0x1000, 1);
        final Region high = add(Long.MIN_VALUE, 1);
        final Region top = add(-256, 1);

        assertThat(regions.find(0x10FF)).isSameAs(low);
        assertThat(regions.find(Long.MIN_VALUE + 255)).isSameAs(high);
        assertThat(regions.find(-1)).isSameAs(top);
        assertThat(regions.find(0)).isNull();
        assertThat(regions.find(0x1100)).isNull();
        assertThat(regions.find(Long.MAX_VALUE)).isNull();
        assertThat(regions.find(-257)).isNull();
        assertThat(regions.toList()).containsExactly(low, high, top);
    }

    /** Addresses 1 GiB apart are remembered in one place. */
    @Test
    void regionsFarApartAreToldApart() {
        final Region low = add(0x1000, 1);
        final Region high = add(0x1000 + (1L << 30), 1);
        for (int i = 0; i < 3; i++) {
            assertThat(regions.find(0x1000)).isSameAs(low);
            assertThat(regions.find(0x1000 + (1L << 30))).isSameAs(high);
            assertThat(regions.find(0x1000 + (2L << 30))).isNull();
        }
        regions.remove(high);

        assertThat(regions.find(0x1000 + (1L << 30))).isNull();
        assertThat(regions.find(0x1000)).isSameAs(low);
    }

    @Test
    void regionsComeAndGo() {
        final Random random = new Random(11);
        final List<Region> live = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            if (live.isEmpty() || random.nextInt(100) < 55) {
                live.add(add(i * 0x10_0000L * (i % 2 == 0 ? 1 : -1), 1 + random.nextInt(0x1000)));
            } else {
                regions.remove(live.remove(random.nextInt(live.size())));
            }
        }
        assertThat(regions.count()).isEqualTo(live.size());
        assertThat(live).allSatisfy(region -> {
            assertThat(regions.get(region.id)).isSameAs(region);
            assertThat(regions.find(region.base)).isSameAs(region);
            assertThat(regions.find(region.base + region.byteSize() - 1)).isSameAs(region);
            assertThat(regions.find(region.base + region.byteSize())).isNotSameAs(region);
        });
        assertThat(live.stream().map(region -> region.id)).doesNotHaveDuplicates();
    }
}
