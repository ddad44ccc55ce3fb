package allocator.arena;

import allocator.spi.OptionKey;

/** The unit in which an arena counts memory: {@link OptionKey#SIZE_GRANULARITY}. */
final class Units {
    /** The logarithm of the unit. */
    static final int SHIFT = Long.numberOfTrailingZeros(OptionKey.SIZE_GRANULARITY);

    /** Bytes in a unit. */
    static final long BYTES = 1L << SHIFT;

    /** The most bytes that can be rounded up. */
    static final long MAX_BYTES = OptionKey.MAX_SIZE;

    private Units() {}

    /** The units that hold {@code byteSize} bytes, which are at most {@link #MAX_BYTES}. */
    static long ceil(long byteSize) {
        return (byteSize + BYTES - 1) >>> SHIFT;
    }

    /** The whole units in {@code byteSize} bytes. */
    static long floor(long byteSize) {
        return byteSize >>> SHIFT;
    }

    static long toBytes(long units) {
        return units << SHIFT;
    }

    /** Bytes rounded up to whole units. */
    static long roundUp(long byteSize) {
        return toBytes(ceil(byteSize));
    }

    /** Whether {@code byteSize} is a whole number of units. */
    static boolean isWhole(long byteSize) {
        return (byteSize & (BYTES - 1)) == 0;
    }
}
