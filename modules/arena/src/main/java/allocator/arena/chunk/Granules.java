package allocator.arena.chunk;

import allocator.spi.OptionKey;

/** The granule, in which an arena counts memory: {@link OptionKey#SIZE_GRANULARITY} bytes. */
public final class Granules {
    /** The binary logarithm of {@link #BYTES}. */
    static final int SHIFT = Long.numberOfTrailingZeros(OptionKey.SIZE_GRANULARITY);

    /** Bytes in a granule. */
    public static final long BYTES = 1L << SHIFT;

    /** The most bytes that can be rounded up to whole granules. */
    public static final long MAX_BYTES = OptionKey.MAX_SIZE;

    private Granules() {}

    /** Returns the granules needed for {@code byteSize} bytes, which are at most {@link #MAX_BYTES}. */
    public static long ceil(long byteSize) {
        return (byteSize + BYTES - 1) >>> SHIFT;
    }

    /** Returns the whole granules in {@code byteSize} bytes. */
    public static long floor(long byteSize) {
        return byteSize >>> SHIFT;
    }

    /** Returns the bytes in {@code granules} granules. */
    public static long toBytes(long granules) {
        return granules << SHIFT;
    }

    /** Returns {@code byteSize} rounded up to whole granules, in bytes. */
    public static long roundUp(long byteSize) {
        return toBytes(ceil(byteSize));
    }

    /** Returns whether {@code byteSize} is a whole number of granules. */
    public static boolean isWhole(long byteSize) {
        return (byteSize & (BYTES - 1)) == 0;
    }
}
