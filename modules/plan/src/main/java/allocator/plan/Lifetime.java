package allocator.plan;

/**
 * When a block lives, and how large it is. Two blocks may share memory if and only if their lifetimes do not overlap.
 *
 * <p>Times are those of any clock, such as the number of a call. Memory that a stream may still use is not free yet:
 * {@code upper} is the time from which every other block may use the memory, which on a device is when the work that
 * uses it is known to be complete, and not when the block is freed.
 *
 * @param lower the time from which the block lives
 * @param upper the time from which it lives no more; a block with {@code upper == lower} overlaps no other
 * @param byteSize bytes, from 0 to {@link #MAX_SIZE}; a block of 0 bytes overlaps no other
 * @param byteAlignment what the offset is a multiple of, in bytes: a power of two up to {@link #MAX_ALIGNMENT}
 */
public record Lifetime(long lower, long upper, long byteSize, long byteAlignment) {
    /** The largest size of a block: 2<sup>62</sup> bytes. */
    public static final long MAX_SIZE = 1L << 62;

    /** The largest alignment of a block: 2<sup>40</sup> bytes. */
    public static final long MAX_ALIGNMENT = 1L << 40;

    /**
     * Checks the lifetime.
     *
     * @throws IllegalArgumentException if {@code upper} is below {@code lower}, or size or alignment are out of range
     */
    public Lifetime {
        if (upper < lower) {
            throw new IllegalArgumentException("a lifetime ends before it begins: [" + lower + ", " + upper + ")");
        }
        if (byteSize < 0 || byteSize > MAX_SIZE) {
            throw new IllegalArgumentException("byteSize " + byteSize + " is not from 0 to " + MAX_SIZE);
        }
        if (byteAlignment < 1 || byteAlignment > MAX_ALIGNMENT || Long.bitCount(byteAlignment) != 1) {
            throw new IllegalArgumentException(
                    "byteAlignment " + byteAlignment + " is no power of two from 1 to " + MAX_ALIGNMENT);
        }
    }

    /**
     * A lifetime without an alignment.
     *
     * @param lower the time from which the block lives
     * @param upper the time from which it lives no more
     * @param byteSize bytes, from 0 to {@link #MAX_SIZE}
     * @throws IllegalArgumentException if {@code upper} is below {@code lower}, or the size is out of range
     */
    public Lifetime(long lower, long upper, long byteSize) {
        this(lower, upper, byteSize, 1);
    }

    /** {@return whether the block overlaps no other, whatever their lifetimes: it has no bytes, or no time} */
    public boolean isEmpty() {
        return byteSize == 0 || lower == upper;
    }
}
