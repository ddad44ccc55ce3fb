package allocator.resource;

import allocator.spi.AllocatorException;

/**
 * Thrown for uses of a block that nothing orders: a use that was not prepared, one beside an open write, or a free
 * during a use.
 */
public final class MisorderedUseException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which block, who allocated it, and what is wrong with the use
     */
    public MisorderedUseException(String message) {
        super(message, null);
    }
}
