package allocator.resource.tracked;

import allocator.spi.AllocatorException;

/** Thrown for a use of a block through a tracked memory that did not allocate it. */
public final class ForeignBlockException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the block with its tag, and both memories
     */
    public ForeignBlockException(String message) {
        super(message, null);
    }
}
