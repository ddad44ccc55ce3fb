package allocator.arena.compact;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.arena.chunk.Boundaries;
import org.junit.jupiter.api.Test;

class RangePlacesTest {
    private static final int MOST_PLACES = Integer.MAX_VALUE / 2;

    /** Two ranges, the second at or below the first address. */
    @Test
    void everyPlaceHasItsAddressAndEveryAddressItsPlace() {
        for (int shift = 12; shift <= 30; shift += 9) {
            for (long most = 1; most < MOST_PLACES; most = 2 * most + 1) {
                final RangePlaces places = new RangePlaces(shift);
                final long high = 1L << 62;
                final long low = 1L << shift;
                places.add(high, most << shift);
                final int left = places.left(MOST_PLACES);
                assertEquals(MOST_PLACES - most - 1, left);
                places.add(low, (long) left << shift);
                assertEquals(0, places.left(MOST_PLACES));
                requireInverse(places, high, 0, most, shift);
                requireInverse(places, low, most + 1, left, shift);
            }
        }
    }

    private static void requireInverse(RangePlaces places, long start, long first, long count, int shift) {
        for (final long index : Boundaries.within(0, count - 1)) {
            final int place = (int) (first + index);
            final long address = start + (index << shift);
            assertEquals(address, places.address(place));
            assertEquals(place, places.place(address));
            assertEquals(place, places.place(address + (1L << shift) - 1));
            assertEquals(address, places.near(place));
        }
        assertEquals(first + count, places.endOfRange((int) first));
    }
}
