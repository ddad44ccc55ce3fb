package allocator.spi;

/** Thrown when memory is requested that a factory or transfer does not serve (F-05). */
public final class UnsupportedMemoryException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message names the requested memory, and what is served
     */
    public UnsupportedMemoryException(String message) {
        super(message, null);
    }
}
