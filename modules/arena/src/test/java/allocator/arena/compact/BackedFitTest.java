package allocator.arena.compact;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.testkit.FakeStream;
import java.util.BitSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A range that is mapped up to its end, and of which one address can be backed, or none. */
class BackedFitTest {
    private static final long BASE = 1L << 40;
    private static final long PAGE = 4096;
    private static final int PAGES = 256;
    private static final long PAGE_GRANULES = Granules.floor(PAGE);
    private static final int NOWHERE = -1;

    private final PageTable table = new PageTable(PAGE);
    private final BackedFit placement = new BackedFit(table);
    private final FakeStream stream = new FakeStream();

    @BeforeEach
    void attachARegion() {
        final long granules = PAGES * PAGE_GRANULES;
        placement.prepareRegion(granules);
        final Region region = placement.newRegion(granules);
        region.setBase(BASE);
        table.places.add(BASE, PAGES * PAGE);
        placement.attach(region);
    }

    /** Maps a page everywhere, through which a stream may still use what it freed, except at one place. */
    private void mapAllButOneInUseByAStream(int place) {
        table.ensureRoom(PAGES - 1);
        table.beginGrowth(BASE, PAGES * PAGE, null, new BitSet(PAGES));
        for (int each = 0; each < PAGES; each++) {
            table.ensureRoom(PAGES - 1);
            table.claimMapped(each, table.extents.add(each, 1));
        }
        table.growing.end();
        final int number = table.prepareFreed(stream);
        for (int each = 0; each < PAGES; each++) {
            final int freeing = each == place ? FreeingStreams.NONE : number;
            table.freed(BASE + each * PAGE, PAGE, freeing, stream.syncId());
            table.beginUnmap(each);
        }
    }

    @Test
    void thePlaceIsFoundHoweverManyAreInTheWay() {
        mapAllButOneInUseByAStream(100);
        assertThat(placement.takeLeastLacking(PAGE_GRANULES, PAGE, null, Integer.MAX_VALUE))
                .isEqualTo(BASE + 100 * PAGE);
        assertThat(placement.hasFit()).isTrue();
    }

    @Test
    void noPlaceIsNoWantOfAddresses() {
        mapAllButOneInUseByAStream(NOWHERE);
        assertThat(placement.takeLeastLacking(PAGE_GRANULES, PAGE, null, Integer.MAX_VALUE))
                .isEqualTo(BestFit.NO_ADDRESS);
        assertThat(placement.hasFit()).isTrue();
    }

    @Test
    void aRangeThatIsTooShortHasNoFit() {
        final long granules = (PAGES + 1) * PAGE_GRANULES;
        assertThat(placement.takeLeastLacking(granules, Granules.toBytes(granules), null, Integer.MAX_VALUE))
                .isEqualTo(BestFit.NO_ADDRESS);
        assertThat(placement.hasFit()).isFalse();
    }
}
