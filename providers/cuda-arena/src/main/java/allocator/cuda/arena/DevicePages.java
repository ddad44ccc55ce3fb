package allocator.cuda.arena;

import allocator.arena.page.ReservePages;
import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.memory.CudaDevice;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnsupportedMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Pages of a device's memory: physical memory of the driver. Its own device has access to what is mapped, and the peers
 * that were named. An extent is one handle of the driver.
 *
 * <p>Which addresses have a mapping is recorded here, as the driver fails where it unmaps nothing. The driver's calls
 * cost nearly the same for an extent of any size.
 */
// One class, since ranges, extents and mappings are what one call of the driver changes together.
final class DevicePages implements ReservePages.Pages {
    /** More make no array. */
    private static final int MOST_PAGES = Integer.MAX_VALUE - 8;

    private static final int LEAST_GROWTH = 64;
    private static final long DEFAULT_STREAM = 0;

    private final CudaDevice device;
    private final MemoryInfo info;
    private final CudaAddressRanges driver;
    private final Budget budget;

    /** The ordinals of the devices that get access to each mapping: its own first, then peers. */
    private final List<Integer> accessors;

    private final long granularity;
    private final long pageBytes;

    /** Few: a user reserves one or two. */
    private final List<Range> ranges = new ArrayList<>();

    /** The extents that exist. */
    private final BitSet extents = new BitSet();

    /** By extent: the driver's handle. */
    private long[] handles = new long[0];

    /** By extent: its size in pages. */
    private int[] sizes = new int[0];

    /** By extent: at how many addresses it is mapped. */
    private int[] mappings = new int[0];

    /** What is to be waited for before a mapping ends; {@code null} for nothing. */
    private @Nullable Runnable wait;

    private boolean isClosed;

    /**
     * Reserved addresses. The driver aligns them to its granularity, so there are more of them than were asked for
     * where a page is larger.
     */
    private static final class Range {
        private static final int REST = -1;

        private final long reserved;
        private final long reservedBytes;
        private final long address;
        private final long byteSize;

        /** By page of addresses: 0 if unmapped, the extent plus 1 where a mapping begins, {@link #REST} behind that. */
        private final int[] mapped;

        Range(long reserved, long reservedBytes, long byteSize, long pageBytes) {
            this.reserved = reserved;
            this.reservedBytes = reservedBytes;
            this.byteSize = byteSize;
            address = (reserved + pageBytes - 1) & -pageBytes;
            mapped = new int[Math.toIntExact(byteSize / pageBytes)];
        }

        boolean contains(long wanted) {
            return wanted >= address && wanted - address < byteSize;
        }

        boolean isFree(int index, int size) {
            if (size > mapped.length - index) {
                return false;
            }
            for (int i = index; i < index + size; i++) {
                if (mapped[i] != 0) {
                    return false;
                }
            }
            return true;
        }

        void set(int index, int size, int extent) {
            Arrays.fill(mapped, index, index + size, REST);
            mapped[index] = extent + 1;
        }

        void clear(int index, int size) {
            Arrays.fill(mapped, index, index + size, 0);
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
        budget = Budget.ofMemory(info);
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
        requireOpen();
        final long spare = pageBytes - granularity;
        if (byteSize / pageBytes > MOST_PAGES || byteSize > Long.MAX_VALUE - spare) {
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
    private static boolean undo(Throwable thrown, Runnable call) {
        try {
            call.run();
            return true;
        } catch (Throwable e) {
            Failures.suppress(thrown, e);
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
        unreserve(range);
    }

    private void unreserve(Range range) {
        try {
            driver.memAddressFree(device.ordinal(), range.reserved, range.reservedBytes);
        } catch (CudaException e) {
            throw deviceException(e);
        }
        ranges.remove(range);
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the pages of " + device + " are closed");
        }
    }

    @Override
    public long create(int size) {
        requireOpen();
        final int extent = extents.nextClearBit(0);
        ensureRoom(extent); // before the call, as the Java heap may end
        budget.require(size * pageBytes, info);
        boolean isCreated = false;
        try {
            handles[extent] = driver.memCreate(device.ordinal(), size * pageBytes);
            isCreated = true;
        } catch (CudaException e) {
            throw failure(e, "The device has no memory left", size * pageBytes);
        } finally {
            if (!isCreated) {
                budget.release(size * pageBytes);
            }
        }
        extents.set(extent);
        sizes[extent] = size;
        mappings[extent] = 0;
        return extent;
    }

    private void ensureRoom(int extent) {
        if (extent == handles.length) {
            final int length = extent + Math.max(extent >> 1, LEAST_GROWTH);
            final int[] moreSizes = Arrays.copyOf(sizes, length);
            final int[] moreMappings = Arrays.copyOf(mappings, length);
            extents.set(length); // makes it as long
            extents.clear(length);
            handles = Arrays.copyOf(handles, length);
            mappings = moreMappings;
            sizes = moreSizes;
        }
    }

    private int requireExtent(long extent) {
        if (extent < 0 || extent >= handles.length || !extents.get((int) extent)) {
            throw new IllegalArgumentException("there is no extent " + extent);
        }
        return (int) extent;
    }

    @Override
    public void release(long extent) {
        final int released = requireExtent(extent);
        if (mappings[released] > 0) {
            throw new IllegalArgumentException("extent " + extent + " is mapped");
        }
        try {
            driver.memRelease(device.ordinal(), handles[released]);
        } catch (CudaException e) {
            throw deviceException(e);
        }
        extents.clear(released);
        budget.release(sizes[released] * pageBytes);
    }

    /** Returns the bytes of the extents that were not released; when nothing else uses the pages. */
    long heldBytes() {
        return extents.stream().mapToLong(extent -> sizes[extent]).sum() * pageBytes;
    }

    @Override
    public void map(long address, long extent) {
        final Range range = rangeOf(address);
        final int index = index(range, address);
        final int mapped = requireExtent(extent);
        final long byteSize = sizes[mapped] * pageBytes;
        if (!range.isFree(index, sizes[mapped])) {
            throw new IllegalArgumentException(
                    "there are no " + sizes[mapped] + " free pages of addresses at 0x" + Long.toHexString(address));
        }
        try {
            driver.memMap(device.ordinal(), address, byteSize, handles[mapped]);
        } catch (CudaException e) {
            throw failure(e, "The device has no room for another mapping", byteSize);
        }
        range.set(index, sizes[mapped], mapped);
        mappings[mapped]++;
        try {
            for (int i = 0; i < accessors.size(); i++) { // an iterator takes Java heap, which may have ended
                driver.memSetAccess(accessors.get(i), address, byteSize, MemoryAccess.READ_WRITE);
            }
        } catch (CudaException e) {
            throw undo(e, () -> unmap(range, index))
                    ? failure(e, "The device has no room for another mapping", byteSize)
                    : deviceException(e);
        } catch (Throwable e) { // the end of the Java heap or stack
            undo(e, () -> unmap(range, index));
            throw e;
        }
    }

    @Override
    public void protect(long address, long byteSize) {
        try {
            for (int i = accessors.size() - 1; i >= 0; i--) { // its own last: what fails before leaves it as it was
                driver.memSetAccess(accessors.get(i), address, byteSize, MemoryAccess.READ);
            }
        } catch (CudaException e) {
            throw failure(e, "The device has no room for another mapping", byteSize);
        }
    }

    @Override
    public void clear(long address, long byteSize) {
        try {
            device.driver().memory().memsetD8(device.ordinal(), address, (byte) 0, byteSize);
            device.driver().streams().streamSynchronize(device.ordinal(), DEFAULT_STREAM);
        } catch (CudaException e) {
            throw deviceException(e);
        }
    }

    @Override
    public void read(long address, MemorySegment target) {
        try {
            device.driver().memory().memcpyDtoH(device.ordinal(), target.address(), address, target.byteSize());
        } catch (CudaException e) {
            throw deviceException(e);
        }
    }

    private int index(Range range, long address) {
        final long offset = address - range.address;
        if (offset % pageBytes != 0) {
            throw new IllegalArgumentException("0x" + Long.toHexString(address) + " is no address of a page");
        }
        return (int) (offset / pageBytes);
    }

    @Override
    public void unmap(long address) {
        final Range range = rangeOf(address);
        final int index = index(range, address);
        if (range.mapped[index] == Range.REST) {
            throw new IllegalArgumentException("no mapping begins at 0x" + Long.toHexString(address));
        }
        if (range.mapped[index] == 0) {
            return;
        }
        try {
            unmap(range, index);
        } catch (CudaException e) {
            throw deviceException(e);
        }
    }

    /** Has the next call that ends a mapping wait for the device: as long as it cannot, all mappings stay. */
    void endMappingsAfter(Runnable awaitDevice) {
        wait = awaitDevice;
    }

    /** Ends the mapping that begins at an index. */
    private void unmap(Range range, int index) {
        if (wait != null) {
            wait.run();
            wait = null;
        }
        final int extent = range.mapped[index] - 1;
        driver.memUnmap(device.ordinal(), range.address + index * pageBytes, sizes[extent] * pageBytes);
        range.clear(index, sizes[extent]);
        mappings[extent]--;
    }

    @Override
    public void close() {
        isClosed = true;
        final Failures failures = new Failures();
        for (Range range : List.copyOf(ranges)) {
            for (int i = 0; i < range.mapped.length; i++) {
                if (range.mapped[i] > 0) {
                    final long address = range.address + i * pageBytes;
                    failures.run(() -> unmap(address));
                }
            }
        }
        for (int i = extents.nextSetBit(0); i >= 0; i = extents.nextSetBit(i + 1)) {
            final int extent = i;
            if (mappings[extent] == 0) {
                failures.run(() -> release(extent));
            }
        }
        for (Range range : List.copyOf(ranges)) {
            if (Arrays.stream(range.mapped).allMatch(entry -> entry == 0)) {
                failures.run(() -> unreserve(range));
            }
        }
        failures.throwIfAny();
    }

    @Override
    public String toString() {
        return "pages of " + pageBytes + " bytes of " + device;
    }
}
