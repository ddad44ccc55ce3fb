package allocator.spi;

/**
 * Thrown when an allocator is released that the factory did not create, or of which no reference is left; nothing
 * changes (F-07).
 */
public final class UnknownAllocatorException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message names the allocator, and why the release is rejected
     */
    public UnknownAllocatorException(String message) {
        super(message, null);
    }
}
