package allocator.spi;

/** Thrown when a factory or transfer is asked for memory that it does not serve (F-05). */
public final class UnsupportedMemoryException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message the memory asked for, and what is served
     */
    public UnsupportedMemoryException(String message) {
        super(message, null);
    }
}
