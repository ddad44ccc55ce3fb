package allocator.spi;

/** Thrown for a free of a block that was freed already. It is detected only until the address is allocated again. */
public final class DoubleFreeException extends InvalidFreeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param address the address
     * @param detail what is known about it, to follow the address in the message
     */
    public DoubleFreeException(long address, String detail) {
        super(address, detail);
    }
}
