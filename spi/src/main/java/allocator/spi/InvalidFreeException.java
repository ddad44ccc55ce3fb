package allocator.spi;

/** Thrown for a free of an address that is not the start of a live block; nothing changes. */
public abstract sealed class InvalidFreeException extends AllocatorException
        permits ForeignAddressException, InteriorAddressException, DoubleFreeException {
    private static final long serialVersionUID = 1L;

    /** The rejected address. */
    private final long address;

    InvalidFreeException(long address, String reason) {
        super("address 0x" + Long.toHexString(address) + ": " + reason, null);
        this.address = address;
    }

    /** {@return the rejected address} */
    public long address() {
        return address;
    }
}
