package allocator.spi;

/**
 * A capability of an allocator whose large reserves lie on pages of their own: their memory goes back to the device and
 * comes again while their addresses stay. Such a reserve takes whole pages. While it has none, it counts nowhere:
 * neither in use nor held, and towards no limit. {@link Allocator#free} ends it in either state. Ask for it with
 * {@link Allocator#as}; a wrapper returns that of the allocator that it wraps, since no block comes or goes here.
 *
 * <p>Safe for use by any thread; the caller makes one call at a time for one reserve. Throws
 * {@link AllocatorClosedException} once the allocator is closed.
 */
public interface RemappableReserves {
    /** Receives parts of a reserve. */
    @FunctionalInterface
    interface Part {
        /**
         * Receives a part that has pages now, for instance to queue a copy to it. It must not call the allocator.
         *
         * @param offset where it begins in the reserve, in bytes
         * @param byteSize its size
         */
        void mapped(long offset, long byteSize);
    }

    /** {@return the size of a page in bytes, a power of two: a smaller reserve has no pages of its own} */
    long pageBytes();

    /**
     * {@return the bytes of a reserve's pages; {@code 0} if they were taken away, {@code -1} if it has none of its own}
     *
     * @param address the reserve's address
     */
    long mappedBytes(long address);

    /**
     * Takes the pages of reserves away, after all work of the device. Contents are lost, and any use is an error until
     * {@link #map}. What the device fails to take back counts as held, and is offered again.
     *
     * @param addresses the reserves' addresses
     * @throws IllegalArgumentException if one has no pages; those before it have lost theirs
     * @throws DeviceException if the device cannot be waited for; nothing changes
     */
    void unmap(long... addresses);

    /**
     * Gives a reserve new pages, all or none. Their contents are undefined. A reserve that {@link PagedReserves#share}
     * has given a copy gets that copy, with its bytes and without any part, if another reserve is mapped to it;
     * otherwise the caller brings the same bytes again, waits for them, and calls {@link PagedReserves#share}.
     *
     * @param address the reserve's address
     * @param parts receives each new part when it has pages, in order; what it throws, this method throws
     * @throws IllegalArgumentException if it is no reserve whose pages were taken away; nothing changes
     * @throws OutOfMemoryException if the limit or the device has no room
     * @throws DeviceException if the device fails
     */
    void map(long address, Part parts);
}
