package allocator.arena.chunk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class GranulesTest {
    @Test
    void everySizeIsRoundedToTheLeastGranulesThatHoldIt() {
        LongStream.concat(LongStream.rangeClosed(0, 1 << 16), LongStream.of(Boundaries.within(0, Granules.MAX_BYTES)))
                .forEach(byteSize -> {
                    final long rounded = Granules.roundUp(byteSize);
                    assertTrue(rounded >= byteSize && rounded - byteSize < 256, () -> "of " + byteSize);
                    assertEquals(0, rounded % 256, () -> "of " + byteSize);
                    assertEquals(rounded / 256, Granules.ceil(byteSize));
                    assertEquals(byteSize / 256, Granules.floor(byteSize));
                    assertEquals(rounded, Granules.toBytes(Granules.ceil(byteSize)));
                    assertEquals(byteSize == rounded, Granules.isWhole(byteSize));
                });
        assertEquals(Granules.MAX_BYTES, Granules.roundUp(Granules.MAX_BYTES));
    }
}
