package allocator.provider.support.internal;

import allocator.spi.InvalidSizeException;

/** Checks and rounds requested sizes. */
public final class Sizes {
    private Sizes() {}

    /**
     * Rounds a requested size up.
     *
     * @param byteSize the size in bytes; {@code 0} stays {@code 0}
     * @param granularity a power of two, in bytes
     * @return the least multiple of {@code granularity} that is not less
     * @throws InvalidSizeException if the size is negative, or the multiple exceeds {@link Long#MAX_VALUE}
     */
    public static long roundUp(long byteSize, long granularity) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        final long mask = granularity - 1;
        if (byteSize > Long.MAX_VALUE - mask) {
            throw InvalidSizeException.overflow(byteSize, granularity);
        }
        return (byteSize + mask) & ~mask;
    }
}
