package allocator.resource;

import allocator.spi.InvalidSizeException;

/** Checks of a request's size and alignment, for implementations of {@link MemoryResource}. */
public final class Requests {
    private Requests() {}

    /**
     * Checks the size and alignment of an allocation.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes
     * @throws InvalidSizeException if the size is negative
     * @throws InvalidAlignmentException if the alignment is not a power of two
     */
    public static void requireValid(long byteSize, long byteAlignment) {
        requireSize(byteSize);
        requirePowerOfTwo(byteAlignment);
    }

    /**
     * Checks that a size is not negative.
     *
     * @param byteSize size in bytes
     * @throws InvalidSizeException if it is negative
     */
    public static void requireSize(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
    }

    /**
     * Checks that an alignment is a power of two.
     *
     * @param byteAlignment alignment in bytes
     * @throws InvalidAlignmentException if it is not
     */
    public static void requirePowerOfTwo(long byteAlignment) {
        if (byteAlignment <= 0 || (byteAlignment & (byteAlignment - 1)) != 0) {
            throw new InvalidAlignmentException(byteAlignment, "is not a power of two");
        }
    }

    /**
     * Checks that an alignment is at most the largest that a resource supports.
     *
     * @param byteAlignment alignment in bytes
     * @param most the largest supported alignment in bytes
     * @param resource the resource, named in the message
     * @throws InvalidAlignmentException if it is larger
     */
    public static void requireAtMost(long byteAlignment, long most, Object resource) {
        if (byteAlignment > most) {
            throw new InvalidAlignmentException(
                    byteAlignment, "is more than the " + most + " that " + resource + " supports");
        }
    }
}
