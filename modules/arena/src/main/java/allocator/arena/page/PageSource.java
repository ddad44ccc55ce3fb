package allocator.arena.page;

import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;

/**
 * Extents of physical memory, and addresses at which they are mapped. A provider implements it on the calls of its
 * device or operating system.
 *
 * <p>An <em>extent</em> is one or more pages. It is created, mapped and released as a whole. The user reserves a range
 * of addresses, creates extents, and maps them into the range. An extent may be mapped at several addresses, all of
 * which show the same bytes. The contents of an extent that was created are undefined; they stay as they are while it
 * is unmapped and mapped again.
 *
 * <p>No call is ordered on a stream. The user unmaps an address, or releases an extent, only when all work that uses it
 * is done. No call waits for work of the device.
 *
 * <p><b>Failures.</b> A call that throws has had no effect, but for {@link #map} and {@link #unmap}: unless they report
 * a lack of memory, the extent may be mapped at the address or not, and {@link #unmap} ends that. This holds for an
 * {@link Error} as well, as the Java heap or the stack may end in any call.
 *
 * <p><b>Misuse.</b> An address that is not reserved or not that of a page, an address inside a mapping for the first
 * one of it, an extent that does not exist, and a mapping where there is one throw {@link IllegalArgumentException},
 * and nothing changes. Not every implementation notices that an extent is mapped while it is released, or a range while
 * it is given back.
 *
 * <p>The user makes one call at a time; implementations need not be safe for use by several threads.
 */
public interface PageSource extends AutoCloseable {
    /** {@return the memory that the pages are of, the same description at each call} */
    MemoryInfo info();

    /** {@return the size of a page in bytes, a power of two, at least 4096; the same at each call} */
    long pageBytes();

    /**
     * {@return how much memory there is in all for the process, in use or not: bytes, at least {@link #pageBytes}} The
     * ranges that an arena reserves are at most twice as long together.
     *
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
     * Gives back a range, at whose addresses nothing is mapped.
     *
     * @param address the address that {@link #reserve} returned
     * @param byteSize the size that was reserved
     * @throws DeviceException if the device or the system fails; the range stays reserved
     */
    void unreserve(long address, long byteSize);

    /**
     * Creates an extent.
     *
     * @param pages its size in pages, above zero
     * @return its number, which no other extent of this source has until this one is released; not negative
     * @throws OutOfMemoryException if there is not that much physical memory; there may be enough for fewer pages
     * @throws DeviceException if the device or the system fails
     */
    long create(int pages);

    /**
     * Releases an extent that is mapped at no address. Its memory is free when this method returns.
     *
     * @param extent the number of the extent
     * @throws DeviceException if the device or the system fails; the extent still exists, and may be released again
     */
    void release(long extent);

    /**
     * Maps an extent at as many pages of addresses as it has, at none of which anything is mapped.
     *
     * @param address the first address, a multiple of {@link #pageBytes}; all are within one reserved range
     * @param extent the number of the extent
     * @throws OutOfMemoryException if the device or the system has no room for another mapping; the extent is not
     *     mapped there
     * @throws DeviceException if the device or the system fails; the extent may be mapped there, which {@link #unmap}
     *     ends
     */
    void map(long address, long extent);

    /**
     * Ends a mapping, all of it. Does nothing if nothing is mapped at the address.
     *
     * @param address the address at which an extent was mapped, a multiple of {@link #pageBytes} within a reserved
     *     range
     * @throws DeviceException if the device or the system fails; the extent may still be mapped there, and another call
     *     tries again
     */
    void unmap(long address);

    /**
     * Gives back all that is left: mappings, extents and ranges. A source that is closed provides nothing more. A
     * second close tries again what failed, and otherwise does nothing.
     *
     * @throws DeviceException if the device or the system fails; everything else was given back
     */
    @Override
    void close();
}
