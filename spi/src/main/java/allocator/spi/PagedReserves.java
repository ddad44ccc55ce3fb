package allocator.spi;

/**
 * A capability of an allocator whose large reserves have pages of their own: each begins at a page and shares no page
 * with another block, so that the pages beneath its address can be exchanged while the address stays. Ask for it with
 * {@link Allocator#as}; a wrapper returns that of the allocator that it wraps, since no block comes or goes here.
 *
 * <p>Safe for use by any thread. Throws {@link AllocatorClosedException} once the allocator is closed.
 */
public interface PagedReserves {
    /** From this size on, in bytes, a reserve has pages of its own. */
    long LEAST_BYTES = 1 << 16;

    /**
     * Gives a reserve one physical copy with those of the same bytes, if others of this allocator were given here
     * before and are live; otherwise it is the first. All bytes are compared, but not those of a reserve that had a
     * copy and was {@linkplain RemappableReserves#map mapped} again. Every address stays valid and has the bytes that
     * it had. Where the provider lets a block of one copy be written, the write is seen at its own address only, and
     * takes memory that is not counted; elsewhere it is an error from here on, for the first of them as well.
     *
     * <p>Blocks with one copy count once in {@link Allocator#stats} and towards limits; a free of one of them leaves
     * the others. Takes time proportional to the size, and blocks calls that take memory from the device or return it
     * meanwhile.
     *
     * @param address the address of a reserve, whose bytes no other thread writes during the call
     * @return the bytes that went back to the device; {@code 0} if it is the first with its bytes or has one copy with
     *     others already, if it has less than {@link #LEAST_BYTES}, or if no live reserve starts there
     * @throws UnsupportedMemoryException if the platform or the driver cannot do it, or if a provider that does it for
     *     several processes cannot: the next call is for this process alone
     * @throws OutOfMemoryException if memory, addresses, descriptors or mappings do not suffice now; nothing changes
     * @throws DeviceException if the driver fails otherwise; nothing changes, unless it fails so often that a reserve
     *     of {@link RemappableReserves} has lost its pages
     */
    long share(long address);

    /**
     * Returns which copy a reserve has.
     *
     * @param address the reserve's address
     * @return a number that all live reserves with that copy have, and no other one of this allocator at the same time;
     *     {@code 0} if the reserve was not shared, or the provider does not report it
     */
    default long copyOf(long address) {
        return 0;
    }

    /**
     * Returns what is saved: the bytes of all live reserves with one copy, less those of the copies.
     *
     * @return bytes, {@code 0} if nothing is shared; does not wait for the device
     */
    long sharedBytes();
}
