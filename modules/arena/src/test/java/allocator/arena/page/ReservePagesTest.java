package allocator.arena.page;

import static org.junit.jupiter.api.Assertions.assertEquals;

import allocator.arena.chunk.Boundaries;
import allocator.arena.compact.FakePages;
import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Test;

class ReservePagesTest {
    /** What cannot be rounded stays as it is: the source has no such addresses. */
    @Test
    void reservesOfAPageOrMoreAreWholePagesAtEverySize() {
        for (long pageBytes = 4096; pageBytes <= 1 << 30; pageBytes *= 2) {
            final ReservePages reserves =
                    new ReservePages(new FakeDevice(), new FakePages(pageBytes, 1), pageBytes, () -> {});
            for (final long byteSize : Boundaries.within(0, Long.MAX_VALUE)) {
                final long pages = byteSize / pageBytes + (byteSize % pageBytes == 0 ? 0 : 1);
                final boolean isRounded = byteSize >= pageBytes && pages <= Long.MAX_VALUE / pageBytes;
                assertEquals(isRounded ? pages * pageBytes : byteSize, reserves.roundUp(byteSize));
            }
        }
    }
}
