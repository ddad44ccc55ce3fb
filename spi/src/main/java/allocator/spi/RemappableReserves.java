package allocator.spi;

/**
 * A capability of an allocator whose larger reserves lie on pages of their own: their memory goes back to the device
 * and comes again while their addresses stay.
 *
 * <p>A reserve of at least {@link #pageBytes} has whole pages, and counts as so many bytes. While it has none, it is
 * counted nowhere: neither in use nor held, and towards no limit. {@link Allocator#free} ends it in either state. Ask
 * for the capability with {@link Allocator#as}; a wrapper returns that of the allocator that it wraps, since no block
 * comes or goes here.
 *
 * <p>Safe for use by any thread, but the caller makes one call at a time for one reserve.
 */
public interface RemappableReserves {
    /** Receives the parts of a reserve that get pages. */
    @FunctionalInterface
    interface Part {
        /**
         * Receives a part that has pages now, for instance to queue a copy to it while the next part gets its own. It
         * must not call the allocator.
         *
         * @param offset where the part begins in the reserve, in bytes
         * @param byteSize its size in bytes, above zero
         */
        void mapped(long offset, long byteSize);
    }

    /** {@return the size of a page in bytes, a power of two: reserves of fewer bytes have no pages of their own} */
    long pageBytes();

    /**
     * {@return the bytes of a reserve's pages; {@code 0} if they were taken away, {@code -1} if it has none of its own}
     *
     * @param address any address; only the first one of a live reserve has pages
     * @throws AllocatorClosedException if the allocator is closed
     */
    long mappedBytes(long address);

    /**
     * Takes the pages of a reserve away. Waits for all work of the device. The contents are lost, and any use of the
     * memory is an error until {@link #map}. What the device fails to take back counts as held, and is offered again.
     *
     * @param address the reserve
     * @throws IllegalArgumentException if it has no pages; nothing changes
     * @throws DeviceException if the device cannot be waited for; nothing changes
     * @throws AllocatorClosedException if the allocator is closed
     */
    void unmap(long address);

    /**
     * Gives a reserve new pages, all or none. Their contents are undefined.
     *
     * @param address the reserve
     * @param parts receives each part when it has pages, in order; what it throws, this method throws
     * @throws IllegalArgumentException if it is no reserve whose pages were taken away; nothing changes
     * @throws OutOfMemoryException if the limit or the device has no room; it has no pages then
     * @throws DeviceException if the device fails; it has no pages then
     * @throws AllocatorClosedException if the allocator is closed
     */
    void map(long address, Part parts);
}
