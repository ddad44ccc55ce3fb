package allocator.cpu.reference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What the memory of the host calculates, at every power of two and near it. */
class HostSizesTest {
    private static final long[] BOUNDARIES = LongStream.range(0, Long.SIZE)
            .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
            .filter(number -> number >= 0)
            .distinct()
            .toArray();

    @Test
    void everyLimitHasThePageOfWhichItIsAtLeast64UpToTheDefault() {
        for (final long maxMem : BOUNDARIES) {
            long expected = HostPages.DEFAULT_PAGE_BYTES;
            while (maxMem != 0 && expected > 4096 && expected > maxMem / 64) {
                expected /= 2;
            }
            final boolean isServed = maxMem == 0 || maxMem >= 1 << 16;
            assertEquals(isServed ? expected : 0, HostPages.pageBytesFor(maxMem), () -> "of " + maxMem);
        }
    }

    @Test
    void everyLargeBlockIsTheLeastNumberOfThePagesOf64KiB() {
        final long page = 1 << 16;
        for (final long byteSize : BOUNDARIES) {
            if (byteSize <= Long.MAX_VALUE - page) {
                final long whole = HostHeap.wholePages(byteSize);
                assertTrue(whole >= byteSize && whole - byteSize < page && whole % page == 0, () -> "of " + byteSize);
            }
        }
    }

    @Test
    void noBlockIsMappedWhereItsSizeExceedsTheAddresses() {
        for (final long byteSize : BOUNDARIES) {
            if (byteSize >= 1L << 57) {
                assertEquals(0, HostHeap.allocate(64, byteSize), () -> "of " + byteSize);
            }
        }
    }
}
