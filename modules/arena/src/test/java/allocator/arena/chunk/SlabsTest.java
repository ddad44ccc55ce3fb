package allocator.arena.chunk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import org.junit.jupiter.api.Test;

/** What slabs calculate, for all sizes of requests and units. */
class SlabsTest {
    private static final long BASE = 0x7f00_0000_0000L;

    private final Slabs slabs = new Slabs();

    private int create(int unitGranules) {
        slabs.ensureSpare(0);
        return slabs.create(7, unitGranules, BASE);
    }

    private static boolean isUnit(int granules) {
        return Slabs.unitFor(granules) == granules;
    }

    @Test
    void everyRequestHasTheLeastUnitThatHoldsItAndWastesAtMostAnEighth() {
        int least = 0;
        for (int granules = 1; granules <= Slabs.MOST_GRANULES; granules++) {
            if (granules > least) {
                least = granules;
                while (!isUnit(least) && least < Slabs.MOST_GRANULES) {
                    least++;
                }
            }
            assertEquals(least, Slabs.unitFor(granules), "of " + granules);
            assertTrue(8 * (least - granules) <= granules, "of " + granules);
        }
        assertEquals(Slabs.MOST_GRANULES, least);
    }

    @Test
    void everyUnitOfEveryOwnerHasAListOfItsOwn() {
        final BitSet lists = new BitSet();
        for (int owner = 0; owner < Slabs.MAX_OWNERS; owner++) {
            for (int granules = 1; granules <= Slabs.MOST_GRANULES; granules++) {
                if (isUnit(granules)) {
                    lists.set(Slabs.list(owner, granules));
                }
            }
        }
        assertEquals(Slabs.MAX_OWNERS * Slabs.SIZES, lists.cardinality());
        assertEquals(lists.cardinality(), lists.length());
    }

    @Test
    void theUnitsOfEverySlabFillWholeWindowsOfARegion() {
        for (int granules = 1; granules <= Slabs.MOST_GRANULES; granules++) {
            final int units = Slabs.unitsOf(granules);
            assertTrue(!isUnit(granules) || units * granules % Region.WINDOW_GRANULES == 0, "of " + granules);
            assertTrue(units >= 8 && units <= Slabs.MOST_UNITS, "of " + granules);
            assertTrue(units * granules <= Slabs.MAX_SLAB_GRANULES, "of " + granules);
        }
    }

    @Test
    void onlyTheFirstByteOfALiveUnitIsFound() {
        for (int granules = 1; granules <= Slabs.MOST_GRANULES; granules++) {
            if (isUnit(granules)) {
                final int slab = create(granules);
                final int units = Slabs.unitsOf(granules);
                assertEquals(units, Long.bitCount(slabs.free(slab)));
                for (int place = 0; place < units; place++) {
                    slabs.setLive(Slabs.unit(slab, place), 0);
                }
                for (int offset = 0; offset < units * granules * 256; offset += offset % 256 == 1 ? 254 : 1) {
                    final int found = slabs.liveUnit(slab, BASE + offset);
                    if (offset % (granules * 256) == 0) {
                        assertEquals(Slabs.unit(slab, offset / (granules * 256)), found);
                        assertEquals(BASE + offset, slabs.address(found));
                    } else if (found != Chunks.NONE) {
                        throw new AssertionError("offset " + offset + " in units of " + granules);
                    }
                }
            }
        }
    }

    @Test
    void theBytesOfEveryRequestAreKept() {
        for (int byteSize = 1; byteSize <= Slabs.MOST_GRANULES * 256; byteSize++) {
            final int granules = Slabs.unitFor((int) Granules.ceil(byteSize));
            final int unit = Slabs.unit(create(granules), 0);
            slabs.setLive(unit, granules * 256 - byteSize);
            assertEquals(byteSize, slabs.requested(unit));
            slabs.setFree(unit);
            slabs.retire(Slabs.slab(unit));
        }
    }
}
