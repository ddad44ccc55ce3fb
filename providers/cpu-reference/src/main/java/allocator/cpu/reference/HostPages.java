package allocator.cpu.reference;

import allocator.arena.page.PageSource;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.platform.OperatingSystem;
import allocator.provider.support.platform.Platform;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.List;

/**
 * Pages of the host's memory, on Linux: parts of a {@link HostFile}, which take up memory where they were used. So
 * {@link #create} hardly ever reports a lack of memory; the system ends a process, or sends it a signal, when it finds
 * none at the first use.
 *
 * <p>Reserved addresses are mapped, but not to be read. The system counts mappings, and neighbours as one where their
 * pages are neighbours too; {@code vm.max_map_count} limits them. A JVM that finds none left ends at once, so pages are
 * mapped only where {@link ProcessMappings} have room.
 */
final class HostPages implements PageSource {
    /** A compromise between the calls for a large block and the waste of a small one. */
    static final long DEFAULT_PAGE_BYTES = 256 << 10;

    private static final long LEAST_PAGE_BYTES = 4096;

    /** How many pages a limit has at least, if it has room for so many of the least size. */
    private static final int LEAST_PAGES = 64;

    private static final long LEAST_LIMIT = 16 * LEAST_PAGE_BYTES;

    static final int RESERVED = LinuxCalls.MAP_PRIVATE | LinuxCalls.MAP_ANONYMOUS | LinuxCalls.MAP_NORESERVE;

    /** More than a process has. */
    private static final long MOST_ADDRESSES = 1L << 47;

    /** More make no array. */
    private static final int MOST_PAGES = Integer.MAX_VALUE - 8;

    private static final int MAPPED = LinuxCalls.MAP_SHARED | LinuxCalls.MAP_FIXED;

    /** One call instead of a fault for each of the system's pages, for memory that is there already. */
    private static final int MAPPED_AT_ONCE = MAPPED | LinuxCalls.MAP_POPULATE;

    /** The mapping that there is stays, and finds its memory again at the next use. */
    static final int MOVED = LinuxCalls.MREMAP_MAYMOVE | LinuxCalls.MREMAP_FIXED | LinuxCalls.MREMAP_DONTUNMAP;

    private static final int READ_AND_WRITE = LinuxCalls.PROT_READ | LinuxCalls.PROT_WRITE;
    private static final int NO_FILE = -1;

    private final LinuxCalls linux;
    private final MemoryInfo info;
    private final long pageBytes;
    private final ProcessMappings mappings;
    private final HostMemorySize memory;

    /** What is reserved beyond a range, so that its first page can be aligned. */
    private final long spare;

    private final List<HostRange> ranges = new ArrayList<>();
    private final HostFile file;
    private final ParkedPages parked;
    private boolean isClosed;

    /**
     * Creates a source without pages.
     *
     * @param info the memory to serve
     * @param pageBytes the size of a page, a power of two, at least 4096 and at least the size of the system's pages
     * @throws UnsupportedMemoryException if the platform is not Linux of 64 bits, or does not have such memory
     * @throws IllegalArgumentException if no page can have that size
     */
    HostPages(MemoryInfo info, long pageBytes, Platform platform) {
        this(info, pageBytes, nativeCalls(platform), ProcessMappings.PROCESS);
    }

    HostPages(MemoryInfo info, long pageBytes, LinuxCalls linux, ProcessMappings mappings) {
        this(info, pageBytes, linux, mappings, HostMemorySize.SYSTEM);
    }

    HostPages(MemoryInfo info, long pageBytes, LinuxCalls linux, ProcessMappings mappings, HostMemorySize memory) {
        final long smallest = Math.max(LEAST_PAGE_BYTES, linux.getpagesize());
        if (Long.bitCount(pageBytes) != 1 || pageBytes < smallest) {
            throw new IllegalArgumentException(
                    "a page of " + pageBytes + " bytes is no power of two, or smaller than " + smallest + " bytes");
        }
        this.info = info;
        this.pageBytes = pageBytes;
        this.linux = linux;
        this.mappings = mappings;
        this.memory = memory;
        spare = pageBytes - linux.getpagesize();
        file = new HostFile(linux, info, pageBytes);
        parked = new ParkedPages(linux, pageBytes, mappings);
        try {
            prepare();
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    /**
     * Returns the size of the pages for an arena with a limit.
     *
     * @param maxMem bytes; 0 for no limit
     * @return bytes; 0 if so small a limit would lose much to its last page, which is not whole
     */
    static long pageBytesFor(long maxMem) {
        if (maxMem == 0) {
            return DEFAULT_PAGE_BYTES;
        }
        if (maxMem < LEAST_LIMIT) {
            return 0;
        }
        final long wanted = Long.highestOneBit(Math.max(maxMem / LEAST_PAGES, LEAST_PAGE_BYTES));
        return Math.min(wanted, DEFAULT_PAGE_BYTES);
    }

    /** Finds the calls; throws where the numbers in {@link LinuxCalls} are not those of the platform. */
    static LinuxCalls nativeCalls(Platform platform) {
        if (platform.system() != OperatingSystem.LINUX || !platform.processor().has64Bits()) {
            throw new UnsupportedMemoryException(platform.lacks(
                    "one copy of equal weights, or arena.policy=compact for memory of the host",
                    "Linux of 64 bits, which maps pages by memfd_create and mmap",
                    "arena.policy=best-fit, the default, works here, with a copy for each session"));
        }
        return new NativeLinuxCalls();
    }

    /**
     * Makes each call once: what the JDK builds at the first one, it could never build again where the Java heap or the
     * stack has ended.
     */
    private void prepare() {
        final long range = reserve(2 * pageBytes);
        final long first = create(1);
        final long second = create(1);
        map(range, first);
        map(range + pageBytes, first);
        unmap(range);
        unmap(range + pageBytes);
        release(first);
        release(second);
        unreserve(range, 2 * pageBytes);
        linux.close(NO_FILE);
    }

    private OutOfMemoryException shortage(String reason, long byteSize) {
        return new OutOfMemoryException(reason, Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
    }

    /** Describes the failure of a call that changes mappings. */
    private static String mappingFailure(ProcessMappings mappings, String call, long result) {
        final String failure = call + " failed with errno " + -result;
        return result == -LinuxCalls.ENOMEM
                ? failure + ", as a process may have no more mappings or addresses: " + mappings.advice()
                : failure;
    }

    /** Returns what a call that maps a memory has returned, unless it has failed. */
    static long require(MemoryInfo info, ProcessMappings mappings, String call, long result, long byteSize) {
        if (result >= 0) {
            return result;
        }
        final String message = mappingFailure(mappings, call, result);
        throw result == -LinuxCalls.ENOMEM
                ? new OutOfMemoryException(message, Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN))
                : new DeviceException(message, null);
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public long pageBytes() {
        return pageBytes;
    }

    /** {@inheritDoc} Less, where a control group of the process has a smaller limit. */
    @Override
    public long memoryBytes() {
        return Math.max(memory.bytes(), pageBytes);
    }

    @Override
    public long reserve(long byteSize) {
        requireOpen();
        if (byteSize > MOST_ADDRESSES || byteSize / pageBytes > MOST_PAGES) {
            throw shortage("No process has that many addresses", byteSize);
        }
        final HostRange range = new HostRange(mappings, byteSize, byteSize + spare, pageBytes);
        ranges.add(range); // before the call, as the Java heap may end
        try {
            final long reserved = linux.mmap(0, range.reservedBytes(), LinuxCalls.PROT_NONE, RESERVED, NO_FILE, 0);
            if (reserved == -LinuxCalls.ENOMEM && hasMappings()) {
                throw shortage(
                        "The process has no range of " + byteSize + " bytes of addresses left (ulimit -v)", byteSize);
            }
            range.reservedAt(require(info, mappings, "mmap", reserved, byteSize));
            return range.address();
        } catch (Throwable e) {
            ranges.removeLast();
            throw e;
        }
    }

    /** Returns whether the process may have another mapping, be it that it has no addresses for a large one. */
    private boolean hasMappings() {
        final long byteSize = linux.getpagesize();
        final long address = linux.mmap(0, byteSize, LinuxCalls.PROT_NONE, RESERVED, NO_FILE, 0);
        return address >= 0 && linux.munmap(address, byteSize) == 0;
    }

    private HostRange rangeOf(long address) {
        for (int i = 0; i < ranges.size(); i++) {
            if (ranges.get(i).contains(address)) {
                return ranges.get(i);
            }
        }
        throw new IllegalArgumentException("0x" + Long.toHexString(address) + " is not reserved");
    }

    @Override
    public void unreserve(long address, long byteSize) {
        final HostRange range = rangeOf(address);
        if (range.address() != address || range.byteSize() != byteSize) {
            throw new IllegalArgumentException(
                    byteSize + " bytes at 0x" + Long.toHexString(address) + " are no whole range");
        }
        unreserve(range);
    }

    private void unreserve(HostRange range) {
        file.setUnmappedIn(range.address(), range.byteSize());
        final long result = linux.munmap(range.reserved(), range.reservedBytes());
        if (result < 0) {
            throw new DeviceException(mappingFailure(mappings, "munmap", result), null);
        }
        range.end();
        ranges.remove(range);
    }

    @Override
    public long create(int size) {
        requireOpen();
        return file.create(size);
    }

    @Override
    public void release(long extent) {
        file.release(extent);
    }

    @Override
    public void map(long address, long extent) {
        final HostRange range = rangeOf(address);
        final int index = range.index(address);
        final int size = file.size(extent);
        final int first = (int) extent;
        if (!range.isFree(index, size)) {
            throw new IllegalArgumentException(
                    "there are no " + size + " free pages of addresses at 0x" + Long.toHexString(address));
        }
        requireMappings(range.boundariesWith(index, first, size));
        range.set(index, first, size); // before the call, as the Java heap may end
        final long result = mapAt(address, first, size);
        if (result == -LinuxCalls.ENOMEM) {
            range.clear(index, size);
        }
        require(info, mappings, "mmap", result, size * pageBytes);
        file.setMapped(first, address);
    }

    /**
     * Maps an extent. Memory that was used is found at once, without a fault for each of the system's pages: the
     * entries of the last mapping move, which takes a few microseconds, or those of another one are made, which takes
     * some hundred for 2 MiB.
     */
    private long mapAt(long address, int first, int size) {
        final long byteSize = size * pageBytes;
        final long last = file.lastMapped(first);
        if (last != HostFile.NEVER && last != HostFile.ENDED) {
            final long moved = linux.mremap(last, byteSize, MOVED, address);
            if (moved >= 0) {
                return moved;
            }
        }
        final int flags = last == HostFile.NEVER ? MAPPED : MAPPED_AT_ONCE;
        return linux.mmap(address, byteSize, READ_AND_WRITE, flags, file.descriptor(), first * pageBytes);
    }

    /** Keeps mappings for the rest of the process. */
    private void requireMappings(int more) {
        if (more > 0 && !mappings.haveRoomFor(more)) {
            parked.giveBack(file);
        }
        if (more > 0 && !mappings.haveRoomFor(more)) {
            throw shortage(
                    "The pages would take more than three quarters of the process's mappings: " + mappings.advice(),
                    pageBytes);
        }
    }

    @Override
    public void unmap(long address) {
        final HostRange range = rangeOf(address);
        final int index = range.index(address);
        final int first = range.page(index);
        if (first < 0) {
            return;
        }
        final int size = file.size(first); // not of a page within a mapping
        if (file.lastMapped(first) == address) {
            file.setMapped(first, HostFile.ENDED); // before the calls: nothing is moved from here if they fail
            file.setMapped(first, parked.park(file, first, size, address));
        }
        final long result = linux.mmap(
                address, size * pageBytes, LinuxCalls.PROT_NONE, RESERVED | LinuxCalls.MAP_FIXED, NO_FILE, 0);
        if (result < 0) {
            throw new DeviceException(mappingFailure(mappings, "mmap", result), null);
        }
        range.clear(index, size);
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the pages of " + info + " are closed");
        }
    }

    @Override
    public void close() {
        isClosed = true;
        final Failures failures = new Failures();
        failures.run(file::close);
        failures.run(() -> parked.giveBack(file));
        for (HostRange range : List.copyOf(ranges)) {
            failures.run(() -> unreserve(range));
        }
        failures.throwIfAny();
    }

    @Override
    public String toString() {
        return file.pageCount() + " pages of " + pageBytes + " bytes and " + ranges.size() + " ranges of " + info;
    }
}
