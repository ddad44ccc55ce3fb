package allocator.resource;

import allocator.spi.AllocatorException;

/** Thrown for the use of a block that was freed. What lies at its address now is something else. */
public final class StaleBlockException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which block, who allocated it, and what is wrong with the use
     */
    public StaleBlockException(String message) {
        super(message, null);
    }
}
