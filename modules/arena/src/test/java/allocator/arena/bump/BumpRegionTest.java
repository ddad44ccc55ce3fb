package allocator.arena.bump;

import allocator.arena.chunk.Boundaries;
import org.junit.jupiter.api.Test;

class BumpRegionTest {
    @Test
    void everyOffsetIsAlignedToTheNextMultipleOfTheAddress() {
        final BumpRegion region = new BumpRegion(Long.MAX_VALUE);
        final long[] offsets = Boundaries.within(0, 1L << 61);
        for (final long base : Boundaries.within(1, 1L << 62)) {
            region.placeAt(base);
            for (final long offset : offsets) {
                for (long alignment = 1; alignment <= BumpArena.MAX_BYTE_ALIGNMENT; alignment *= 2) {
                    final long aligned = region.align(offset, alignment);
                    if (aligned < offset || aligned - offset >= alignment || (base + aligned) % alignment != 0) {
                        throw new AssertionError(offset + " from " + base + " by " + alignment + ": " + aligned);
                    }
                }
            }
        }
    }

    @Test
    void aRegionContainsItsBytesAndNoOthersAtEveryAddress() {
        final long[] addresses = Boundaries.within(Long.MIN_VALUE, Long.MAX_VALUE);
        for (final long byteSize : Boundaries.within(1, Long.MAX_VALUE)) {
            final BumpRegion region = new BumpRegion(byteSize);
            for (final long base : addresses) {
                region.placeAt(base);
                if (!region.contains(base)
                        || !region.contains(base + byteSize - 1)
                        || region.contains(base - 1)
                        || region.contains(base + byteSize)) {
                    throw new AssertionError(byteSize + " bytes at " + base);
                }
            }
        }
    }
}
