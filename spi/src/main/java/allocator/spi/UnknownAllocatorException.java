package allocator.spi;

/**
 * Thrown when a factory is given back an allocator that it did not create, or one reference too many; nothing changes
 * (F-07).
 */
public final class UnknownAllocatorException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which allocator, and why it is refused
     */
    public UnknownAllocatorException(String message) {
        super(message, null);
    }
}
