package allocator.resource;

import allocator.spi.AllocatorException;

/** Thrown for an alignment that is not a power of two, or that exceeds what a resource supports. */
public final class InvalidAlignmentException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** The rejected alignment. */
    private final long byteAlignment;

    /**
     * Creates the exception.
     *
     * @param byteAlignment the rejected alignment in bytes
     * @param reason why it is rejected
     */
    public InvalidAlignmentException(long byteAlignment, String reason) {
        super("alignment " + byteAlignment + " " + reason, null);
        this.byteAlignment = byteAlignment;
    }

    /** {@return the rejected alignment in bytes} */
    public long byteAlignment() {
        return byteAlignment;
    }
}
