package allocator.spi;

/** Thrown for an impossible size: negative, or so large that rounding it overflows. */
public final class InvalidSizeException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** The rejected size. */
    private final long byteSize;

    /**
     * Makes the exception.
     *
     * @param byteSize the size
     * @param reason why it is rejected
     */
    public InvalidSizeException(long byteSize, String reason) {
        super("size " + byteSize + " " + reason, null);
        this.byteSize = byteSize;
    }

    /**
     * {@return the exception for a negative size}
     *
     * @param byteSize the size
     */
    public static InvalidSizeException negative(long byteSize) {
        return new InvalidSizeException(byteSize, "is negative");
    }

    /**
     * {@return the exception for a size that cannot be rounded up}
     *
     * @param byteSize the size
     * @param granularity the multiple to round up to
     */
    public static InvalidSizeException overflow(long byteSize, long granularity) {
        return new InvalidSizeException(byteSize, "overflows when it is rounded up to a multiple of " + granularity);
    }

    /** {@return the rejected size in bytes} */
    public long byteSize() {
        return byteSize;
    }
}
