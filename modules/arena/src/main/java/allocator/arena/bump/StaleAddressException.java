package allocator.arena.bump;

import allocator.spi.AllocatorException;

/** Thrown for an address or a mark that a reset or a rollback has invalidated. */
public final class StaleAddressException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which address or mark is stale, and since which generation
     */
    public StaleAddressException(String message) {
        super(message, null);
    }
}
