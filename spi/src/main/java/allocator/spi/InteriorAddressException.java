package allocator.spi;

/** Thrown for a free of an address inside a live block, but not at its start. */
public final class InteriorAddressException extends InvalidFreeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param address the address
     * @param detail what is known about it, to follow the address in the message
     */
    public InteriorAddressException(long address, String detail) {
        super(address, detail);
    }
}
