package allocator.resource.tracked;

import allocator.spi.AllocatorException;

/** Thrown for a use of a freed block. Its address may belong to another block now. */
public final class StaleBlockException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the block with its tag, and what is wrong
     */
    public StaleBlockException(String message) {
        super(message, null);
    }

    /** Creates the exception with the call site of the free. */
    StaleBlockException(String message, Throwable free) {
        super(message, free);
    }
}
