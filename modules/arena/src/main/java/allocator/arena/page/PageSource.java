package allocator.arena.page;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;

/**
 * Pages of physical memory, and addresses at which they are mapped. A provider implements it on the calls of its device
 * or operating system.
 *
 * <p>The user reserves a range of addresses, creates pages, and maps them into the range. A page may be mapped at
 * several addresses, all of which show the same bytes. The contents of a page that was created are undefined; they stay
 * as they are while it is unmapped and mapped again.
 *
 * <p>No call is ordered on a stream. The user unmaps an address, or releases a page, only when all work that uses it is
 * done. No call waits for work of the device.
 *
 * <p>A call that throws has had no effect, but for {@link #map} and {@link #unmap}. The user makes one call at a time;
 * implementations need not be safe for use by several threads.
 */
public interface PageSource {
    /**
     * Returns the memory that the pages are of.
     *
     * @return the same description at each call
     */
    MemoryInfo info();

    /**
     * Returns the size of a page.
     *
     * @return bytes, a power of two, at least 4096; the same at each call
     */
    long pageBytes();

    /**
     * Returns how much memory there is in all, in use or not. The ranges that an arena reserves are a few times as
     * long.
     *
     * @return bytes, at least {@link #pageBytes}
     * @throws DeviceException if the device or the system fails
     */
    long memoryBytes();

    /**
     * Reserves a range of addresses. Takes no memory of the device.
     *
     * @param byteSize size in bytes, a positive multiple of {@link #pageBytes}
     * @return the first address, a multiple of {@link #pageBytes}, never 0
     * @throws OutOfMemoryException if no range of that size is free
     * @throws DeviceException if the device or the system fails
     */
    long reserve(long byteSize);

    /**
     * Gives back a range, at whose addresses no page is mapped.
     *
     * @param address the address that {@link #reserve} returned
     * @param byteSize the size that was reserved
     * @throws DeviceException if the device or the system fails; the range stays reserved
     */
    void unreserve(long address, long byteSize);

    /**
     * Creates a page.
     *
     * @return its number, which no other page of this source has until this one is released; not negative
     * @throws OutOfMemoryException if there is no physical memory
     * @throws DeviceException if the device or the system fails
     */
    long create();

    /**
     * Releases a page that is mapped at no address. Its memory is free when this method returns.
     *
     * @param page the page
     * @throws DeviceException if the device or the system fails; the page still exists, and may be released again
     */
    void release(long page);

    /**
     * Maps a page at an address at which none is mapped.
     *
     * @param address a multiple of {@link #pageBytes} within a reserved range
     * @param page the page
     * @throws OutOfMemoryException if the device or the system has no room for another mapping; the page is not mapped
     *     there
     * @throws DeviceException if the device or the system fails; the page may be mapped there, which {@link #unmap}
     *     ends
     */
    void map(long address, long page);

    /**
     * Ends the mapping at an address. Does nothing if no page is mapped there.
     *
     * @param address a multiple of {@link #pageBytes} within a reserved range
     * @throws DeviceException if the device or the system fails; the page may still be mapped there, and another call
     *     tries again
     */
    void unmap(long address);
}
