package allocator.resource;

import allocator.spi.InvalidSizeException;

/** What every resource asks of a request. */
final class Requests {
    private Requests() {}

    static void requireValid(long byteSize, long byteAlignment) {
        requireSize(byteSize);
        requirePowerOfTwo(byteAlignment);
    }

    static void requireSize(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
    }

    static void requirePowerOfTwo(long byteAlignment) {
        if (byteAlignment <= 0 || (byteAlignment & (byteAlignment - 1)) != 0) {
            throw new InvalidAlignmentException(byteAlignment, "is not a power of two");
        }
    }

    static void requireAtMost(long byteAlignment, long most, Object resource) {
        if (byteAlignment > most) {
            throw new InvalidAlignmentException(
                    byteAlignment, "is more than the " + most + " that " + resource + " gives");
        }
    }

    /** The next multiple of a power of two. */
    static long roundUp(long byteSize, long granularity) {
        final long mask = granularity - 1;
        if (byteSize > Long.MAX_VALUE - mask) {
            throw InvalidSizeException.overflow(byteSize, granularity);
        }
        return (byteSize + mask) & ~mask;
    }
}
