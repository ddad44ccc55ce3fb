package allocator.spi;

/** Thrown by an operation of an allocator or factory that is closed (L-02). */
public final class AllocatorClosedException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message names what was used after it was closed
     */
    public AllocatorClosedException(String message) {
        super(message, null);
    }
}
