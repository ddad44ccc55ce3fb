package allocator.resource;

import allocator.spi.AllocatorException;

/** Thrown for an alignment that is not a power of two, or more than a resource gives. */
public final class InvalidAlignmentException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** The alignment that was refused. */
    private final long byteAlignment;

    /**
     * Makes the exception.
     *
     * @param byteAlignment the alignment
     * @param reason why it is refused
     */
    public InvalidAlignmentException(long byteAlignment, String reason) {
        super("alignment " + byteAlignment + " " + reason, null);
        this.byteAlignment = byteAlignment;
    }

    /**
     * The alignment that was refused.
     *
     * @return bytes
     */
    public long byteAlignment() {
        return byteAlignment;
    }
}
