package allocator.cuda.arena;

import allocator.arena.page.PageSource;
import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.memory.CudaDevice;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Stream;

/**
 * Pages of a device's memory: physical memory of the driver. Its own device has access to what is mapped, and the peers
 * that were named.
 *
 * <p>The number of a page is the driver's handle, which is an address of this process and so not negative. Which
 * addresses have a mapping is recorded here, as the driver fails where it unmaps nothing.
 */
final class DevicePages implements PageSource {
    private final CudaDevice device;
    private final MemoryInfo info;
    private final CudaAddressRanges driver;

    /** The ordinals of the devices that get access to each mapping: its own first, then peers. */
    private final List<Integer> accessors;

    private final long granularity;
    private final long pageBytes;

    /** Few: a user reserves one or two. */
    private final List<Range> ranges = new ArrayList<>();

    /**
     * Reserved addresses. The driver aligns them to its granularity, so there are more of them than were asked for
     * where a page is larger.
     */
    private static final class Range {
        private final long reserved;
        private final long reservedBytes;
        private final long address;
        private final long byteSize;

        /** One bit for each page of addresses. */
        private final BitSet mapped;

        Range(long reserved, long reservedBytes, long byteSize, long pageBytes) {
            this.reserved = reserved;
            this.reservedBytes = reservedBytes;
            this.byteSize = byteSize;
            address = (reserved + pageBytes - 1) & -pageBytes;
            mapped = new BitSet(Math.toIntExact(byteSize / pageBytes));
        }

        boolean contains(long wanted) {
            return wanted >= address && wanted - address < byteSize;
        }
    }

    /**
     * Creates a source without pages.
     *
     * @param device the device, with a context
     * @param info the memory to serve
     * @param pageBytes the size of a page, a power of two and a multiple of the driver's granularity; {@code 0} for the
     *     granularity
     * @param peers the ordinals of other devices that get access, which have a context
     * @throws UnsupportedMemoryException if the device has no address ranges
     * @throws IllegalArgumentException if no page can have that size
     * @throws DeviceException if the driver fails
     */
    DevicePages(CudaDevice device, MemoryInfo info, long pageBytes, List<Integer> peers) {
        this.device = device;
        accessors = Stream.concat(Stream.of(device.ordinal()), peers.stream())
                .distinct()
                .toList();
        this.info = info;
        driver = device.driver().addressRanges();
        granularity = granularity(device);
        this.pageBytes = pageBytes == 0 ? granularity : pageBytes;
        if (Long.bitCount(this.pageBytes) != 1 || this.pageBytes < granularity) {
            throw new IllegalArgumentException("a page of " + pageBytes
                    + " bytes is no power of two, or smaller than the " + granularity + " bytes of " + device);
        }
    }

    /**
     * Returns the least size of a page of a device.
     *
     * @throws UnsupportedMemoryException if the device has no address ranges
     * @throws DeviceException if the driver fails
     */
    static long granularity(CudaDevice device) {
        try {
            return device.driver().addressRanges().memGetAllocationGranularity(device.ordinal());
        } catch (CudaException e) {
            if (e.result() == CudaResult.NOT_SUPPORTED) {
                throw new UnsupportedMemoryException(
                        device + " has no virtual memory to map pages into; arena.policy=best-fit works there");
            }
            throw deviceException(e);
        }
    }

    private static DeviceException deviceException(CudaException e) {
        return new DeviceException(String.valueOf(e.getMessage()), e);
    }

    /** Translates a failure of a call that may find no memory or no addresses. */
    private AllocatorException failure(CudaException e, String shortage, long byteSize) {
        return e.isOutOfMemory()
                ? new OutOfMemoryException(
                        shortage + ": " + e.getMessage(), Shortage.ofDevice(info, byteSize, freeBytes()), "", e)
                : deviceException(e);
    }

    private long freeBytes() {
        try {
            return device.driver().memory().memGetInfo(device.ordinal()).freeByteSize();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public long pageBytes() {
        return pageBytes;
    }

    @Override
    public long memoryBytes() {
        try {
            return device.driver().memory().memGetInfo(device.ordinal()).totalByteSize();
        } catch (CudaException e) {
            throw deviceException(e);
        }
    }

    @Override
    public long reserve(long byteSize) {
        final long spare = pageBytes - granularity;
        if (byteSize / pageBytes > Integer.MAX_VALUE || byteSize > Long.MAX_VALUE - spare) {
            throw new OutOfMemoryException(
                    "No device has that many addresses",
                    Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
        }
        final long reserved;
        try {
            reserved = driver.memAddressReserve(device.ordinal(), byteSize + spare);
        } catch (CudaException e) {
            throw failure(e, "The device has no addresses left", byteSize);
        }
        try {
            final Range range = new Range(reserved, byteSize + spare, byteSize, pageBytes);
            ranges.add(range);
            return range.address;
        } catch (Throwable e) { // the end of the Java heap
            undo(e, () -> driver.memAddressFree(device.ordinal(), reserved, byteSize + spare));
            throw e;
        }
    }

    /** Makes a call that takes back a step of one that throws. Returns whether it succeeds. */
    @SuppressWarnings("ReferenceEquality") // an exception may be thrown twice, but not be suppressed by itself
    private static boolean undo(Throwable thrown, Runnable call) {
        try {
            call.run();
            return true;
        } catch (Throwable e) {
            if (e != thrown) {
                thrown.addSuppressed(e);
            }
            return false;
        }
    }

    private Range rangeOf(long address) {
        for (int i = 0; i < ranges.size(); i++) {
            if (ranges.get(i).contains(address)) {
                return ranges.get(i);
            }
        }
        throw new IllegalArgumentException("0x" + Long.toHexString(address) + " is not reserved");
    }

    @Override
    public void unreserve(long address, long byteSize) {
        final Range range = rangeOf(address);
        if (range.address != address || range.byteSize != byteSize) {
            throw new IllegalArgumentException(
                    byteSize + " bytes at 0x" + Long.toHexString(address) + " are no whole range");
        }
        try {
            driver.memAddressFree(device.ordinal(), range.reserved, range.reservedBytes);
        } catch (CudaException e) {
            throw deviceException(e);
        }
        ranges.remove(range);
    }

    @Override
    public long create() {
        try {
            return driver.memCreate(device.ordinal(), pageBytes);
        } catch (CudaException e) {
            throw failure(e, "The device has no memory left", pageBytes);
        }
    }

    @Override
    public void release(long page) {
        try {
            driver.memRelease(device.ordinal(), page);
        } catch (CudaException e) {
            throw deviceException(e);
        }
    }

    @Override
    public void map(long address, long page) {
        final Range range = rangeOf(address);
        try {
            driver.memMap(device.ordinal(), address, pageBytes, page);
        } catch (CudaException e) {
            throw failure(e, "The device has no room for another mapping", pageBytes);
        }
        final int index = index(range, address);
        range.mapped.set(index);
        try {
            for (int i = 0; i < accessors.size(); i++) { // an iterator takes Java heap, which may have ended
                driver.memSetAccess(accessors.get(i), address, pageBytes, MemoryAccess.READ_WRITE);
            }
        } catch (CudaException e) {
            throw unmapAgain(range, address, e)
                    ? failure(e, "The device has no room for another mapping", pageBytes)
                    : deviceException(e);
        } catch (Throwable e) { // the end of the Java heap or stack
            unmapAgain(range, address, e);
            throw e;
        }
    }

    private boolean unmapAgain(Range range, long address, Throwable thrown) {
        final boolean isUnmapped = undo(thrown, () -> driver.memUnmap(device.ordinal(), address, pageBytes));
        if (isUnmapped) {
            range.mapped.clear(index(range, address));
        }
        return isUnmapped;
    }

    private int index(Range range, long address) {
        return (int) ((address - range.address) / pageBytes);
    }

    @Override
    public void unmap(long address) {
        final Range range = rangeOf(address);
        final int index = index(range, address);
        if (!range.mapped.get(index)) {
            return;
        }
        try {
            driver.memUnmap(device.ordinal(), address, pageBytes);
        } catch (CudaException e) {
            throw deviceException(e);
        }
        range.mapped.clear(index);
    }

    @Override
    public String toString() {
        return "pages of " + pageBytes + " bytes of " + device;
    }
}
