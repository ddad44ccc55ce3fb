package allocator.resource;

import allocator.spi.AllocatorException;

/** Thrown for the use of a block that another tracked memory allocated. */
public final class ForeignBlockException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which block, who allocated it, and what is wrong with the use
     */
    public ForeignBlockException(String message) {
        super(message, null);
    }
}
