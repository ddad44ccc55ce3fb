package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.SyncStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A range that is mapped up to its end, and of which one address can be backed, or none. */
class BackedFitTest {
    private static final long BASE = 1L << 40;
    private static final long PAGE = 4096;
    private static final long PAGES = 256;
    private static final long PAGE_GRANULES = Granules.floor(PAGE);
    private static final long NOWHERE = 0;

    private final OnePlace backing = new OnePlace();
    private final BackedFit placement = new BackedFit(backing);

    @BeforeEach
    void attachARegion() {
        final long granules = PAGES * PAGE_GRANULES;
        placement.prepareRegion(granules);
        final Region region = placement.newRegion(granules);
        region.setBase(BASE);
        placement.attach(region);
    }

    @Test
    void thePlaceIsFoundHoweverManyAreInTheWay() {
        backing.place = BASE + 100 * PAGE;
        assertThat(placement.takeLeastLacking(PAGE_GRANULES, PAGE, null, Integer.MAX_VALUE))
                .isEqualTo(backing.place);
        assertThat(placement.hasFit()).isTrue();
    }

    @Test
    void noPlaceIsNoWantOfAddresses() {
        backing.place = NOWHERE;
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

    /** A request lacks a page at one address, and cannot be backed at the others. */
    private static final class OnePlace implements BackedFit.Backing {
        private long place;
        private long examined;

        @Override
        public int lacks(long address, long byteSize, SyncStream requester, int enough) {
            examined = address;
            return address == place ? 1 : IMPOSSIBLE;
        }

        @Override
        public long backed(long address, long last, long byteSize, SyncStream requester) {
            return NO_ADDRESS;
        }

        @Override
        public long behindLacking() {
            return examined + PAGE;
        }

        @Override
        public long possible(long address, long last, long byteSize, SyncStream requester) {
            return address <= place && place <= last ? place : NO_ADDRESS;
        }

        @Override
        public long end(long address) {
            return BASE + PAGES * PAGE;
        }

        @Override
        public boolean isBacked(long address, long byteSize, SyncStream requester) {
            return false;
        }

        @Override
        public void taken(long address, long byteSize) {}

        @Override
        public int prepareFreed(SyncStream stream) {
            return 0;
        }

        @Override
        public void freed(long address, long byteSize, int stream, long stamp) {}

        @Override
        public void unbind(SyncStream stream) {}

        @Override
        public void clear() {}

        @Override
        public void recount(long address, long byteSize, boolean isFree, SyncStream stream, long stamp) {}
    }
}
