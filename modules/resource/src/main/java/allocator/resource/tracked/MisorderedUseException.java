package allocator.resource.tracked;

import allocator.spi.AllocatorException;

/**
 * Thrown for uses of a block without a defined order: finishing a use that was not prepared, preparing a use that
 * conflicts with an open one on another stream, or freeing a block during a use.
 */
public final class MisorderedUseException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message the block with its tag, and what is wrong
     */
    public MisorderedUseException(String message) {
        super(message, null);
    }
}
