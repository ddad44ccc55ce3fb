package allocator.arena.bump;

import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;

/** Checks and arithmetic on the size and the alignment of a request. */
final class BumpRequest {
    /** The largest alignment that a request may have, in bytes. */
    static final long MAX_BYTE_ALIGNMENT = 1L << 30;

    private BumpRequest() {}

    static boolean isAlignment(long byteAlignment) {
        return byteAlignment > 0 && byteAlignment <= MAX_BYTE_ALIGNMENT && (byteAlignment & (byteAlignment - 1)) == 0;
    }

    /** Rejects a size that is negative or cannot be aligned. */
    static void requireSize(long byteSize, long byteAlignment) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - byteAlignment) {
            throw InvalidSizeException.overflow(byteSize, byteAlignment);
        }
    }

    /** Rejects a size that is negative or cannot be aligned, and an alignment out of range. */
    static void requireValid(long byteSize, long byteAlignment) {
        if (byteSize >= 0 && !isAlignment(byteAlignment)) {
            throw new IllegalArgumentException(
                    "byteAlignment is " + byteAlignment + ", it must be a power of two, at most " + MAX_BYTE_ALIGNMENT);
        }
        requireSize(byteSize, byteAlignment);
    }

    /** Returns the size from which on a region of {@code info}'s alignment fits the request at any base address. */
    static long leastRegionBytes(MemoryInfo info, long byteSize, long byteAlignment) {
        return byteAlignment <= info.byteAlignment() ? byteSize : byteSize + byteAlignment - info.byteAlignment();
    }
}
