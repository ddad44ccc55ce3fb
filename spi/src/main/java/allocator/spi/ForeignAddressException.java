package allocator.spi;

/** Thrown for a free, or a segment, of an address that this allocator did not return. */
public final class ForeignAddressException extends InvalidFreeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param address the address
     * @param detail what is known about it, to follow the address in the message
     */
    public ForeignAddressException(long address, String detail) {
        super(address, detail);
    }
}
