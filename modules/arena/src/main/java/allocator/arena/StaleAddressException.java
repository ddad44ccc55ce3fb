package allocator.arena;

import allocator.spi.AllocatorException;

/** Thrown for an address, or a mark, from before a reset or rollback: what is there now is something else. */
public final class StaleAddressException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what is stale and since when
     */
    public StaleAddressException(String message) {
        super(message, null);
    }
}
