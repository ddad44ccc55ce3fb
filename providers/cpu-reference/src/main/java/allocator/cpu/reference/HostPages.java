package allocator.cpu.reference;

import allocator.arena.page.PageSource;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.UnsupportedMemoryException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Stream;

/**
 * Pages of the host's memory, on Linux. They are the parts of one file that is memory and has no name: page {@code n}
 * begins at {@code n * pageBytes}, and the file ends with the last page that exists.
 *
 * <p>A page takes up memory where it was used: what was never written, or was released, is a hole in the file. So
 * {@link #create} hardly ever reports a lack of memory; the system ends a process, or sends it a signal, when it finds
 * none at the first use. The number of a released page is reused, the lowest first.
 *
 * <p>Reserved addresses are mapped, but not to be read. The system counts mappings, and neighbours as one where their
 * pages are neighbours too; {@code vm.max_map_count} limits them. A JVM that finds none left ends at once, so the pages
 * of all sources take no more than three quarters of them.
 */
final class HostPages implements PageSource {
    /** A compromise between the calls for a large block and the waste of a small one. */
    static final long DEFAULT_PAGE_BYTES = 256 << 10;

    private static final long LEAST_PAGE_BYTES = 4096;

    /** How many pages a limit has at least, if it has room for so many of the least size. */
    private static final int LEAST_PAGES = 64;

    private static final Path MEMORY = Path.of("/proc/meminfo");

    /** Where the system does not say how much memory it has. */
    private static final long MOST_MEMORY = 1L << 40;

    private static final Path MAPPINGS_LIMIT = Path.of("/proc/sys/vm/max_map_count");

    private static final int RESERVED = LinuxCalls.MAP_PRIVATE | LinuxCalls.MAP_ANONYMOUS | LinuxCalls.MAP_NORESERVE;
    /** The limit of Linux where nobody has set another one. */
    private static final long DEFAULT_MAPPINGS = 65_530;

    /** More than a process has. */
    private static final long MOST_ADDRESSES = 1L << 47;

    /** More make no array. */
    private static final int MOST_PAGES = Integer.MAX_VALUE - 8;

    private static final int MAPPED = LinuxCalls.MAP_SHARED | LinuxCalls.MAP_FIXED;

    /** One call instead of a fault for each of the system's pages, for memory that is there already. */
    private static final int MAPPED_AT_ONCE = MAPPED | LinuxCalls.MAP_POPULATE;

    private static final int READ_AND_WRITE = LinuxCalls.PROT_READ | LinuxCalls.PROT_WRITE;
    private static final int NO_FILE = -1;

    private final LinuxCalls linux;
    private final MemoryInfo info;
    private final long pageBytes;
    private final long mappingsLimit;

    /** What is reserved beyond a range, so that its first page can be aligned. */
    private final long spare;

    private final List<HostRange> ranges = new ArrayList<>();
    private final BitSet pages = new BitSet();

    /** The pages that were mapped since they were created. */
    private final BitSet used = new BitSet();

    /** No page below it is released. */
    private int lowestFree;

    /** The end of the file, in pages. */
    private int end;

    private int file;

    /**
     * Creates a source without pages.
     *
     * @param info the memory to serve
     * @param pageBytes the size of a page, a power of two, at least 4096 and at least the size of the system's pages
     * @throws UnsupportedMemoryException if the system is not Linux or does not have such memory
     * @throws IllegalArgumentException if no page can have that size
     */
    HostPages(MemoryInfo info, long pageBytes) {
        this(info, pageBytes, nativeCalls(System.getProperty("os.name")), mappingsLimit());
    }

    HostPages(MemoryInfo info, long pageBytes, LinuxCalls linux, long mappingsLimit) {
        final long smallest = Math.max(LEAST_PAGE_BYTES, linux.getpagesize());
        if (Long.bitCount(pageBytes) != 1 || pageBytes < smallest) {
            throw new IllegalArgumentException(
                    "a page of " + pageBytes + " bytes is no power of two, or smaller than " + smallest + " bytes");
        }
        this.info = info;
        this.pageBytes = pageBytes;
        this.linux = linux;
        this.mappingsLimit = mappingsLimit;
        spare = pageBytes - linux.getpagesize();
        file = openFile(linux);
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
     * @return bytes; 0 if the limit has no room for a page
     */
    static long pageBytesFor(long maxMem) {
        if (maxMem == 0) {
            return DEFAULT_PAGE_BYTES;
        }
        if (maxMem < LEAST_PAGE_BYTES) {
            return 0;
        }
        final long wanted = Long.highestOneBit(Math.max(maxMem / LEAST_PAGES, LEAST_PAGE_BYTES));
        return Math.min(wanted, DEFAULT_PAGE_BYTES);
    }

    /** Finds the calls; throws on other systems than Linux. */
    static LinuxCalls nativeCalls(String system) {
        if (!system.equals("Linux")) {
            throw new UnsupportedMemoryException(
                    system + " has no calls to map pages of the host with; arena.policy=best-fit works there");
        }
        return new NativeLinuxCalls();
    }

    /** Opens a file whose contents cannot be executed, as some systems demand and older ones do not know. */
    private static int openFile(LinuxCalls linux) {
        long opened = linux.memfdCreate(LinuxCalls.MFD_CLOEXEC | LinuxCalls.MFD_NOEXEC_SEAL);
        if (opened == -LinuxCalls.EINVAL) {
            opened = linux.memfdCreate(LinuxCalls.MFD_CLOEXEC);
        }
        if (opened < 0) {
            throw new UnsupportedMemoryException(
                    "memfd_create failed with errno " + -opened + "; arena.policy=best-fit works without it");
        }
        return (int) opened;
    }

    /**
     * Makes each call once: what the JDK builds at the first one, it could never build again where the Java heap or the
     * stack has ended.
     */
    private void prepare() {
        final long range = reserve(pageBytes);
        final long first = create();
        final long second = create();
        map(range, first);
        unmap(range);
        release(first);
        release(second);
        unreserve(range, pageBytes);
        linux.close(NO_FILE);
    }

    private static DeviceException failure(String call, long result) {
        return new DeviceException(call + " failed with errno " + -result, null);
    }

    private OutOfMemoryException shortage(String reason, long byteSize) {
        return new OutOfMemoryException(reason, Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
    }

    /** Reads the limit. Such a file gives its contents to the first read alone, so that must not be of one byte. */
    static long mappingsLimit() {
        final byte[] text = new byte[32];
        try (InputStream limit = Files.newInputStream(MAPPINGS_LIMIT)) {
            final int byteSize = limit.read(text);
            return Long.parseLong(new String(text, 0, Math.max(byteSize, 0), StandardCharsets.US_ASCII).strip());
        } catch (IOException | NumberFormatException e) {
            return DEFAULT_MAPPINGS;
        }
    }

    private String moreMappings() {
        return "vm.max_map_count is " + mappingsLimit
                + "; raise it (sysctl -w vm.max_map_count=...), or use larger pages";
    }

    /** Describes the failure of a call that changes mappings. */
    private String mappingFailure(String call, long result) {
        final String failure = call + " failed with errno " + -result;
        return result == -LinuxCalls.ENOMEM
                ? failure + ", as a process may have no more mappings or addresses: " + moreMappings()
                : failure;
    }

    private AllocatorException mappingException(String call, long result, long byteSize) {
        final String message = mappingFailure(call, result);
        return result == -LinuxCalls.ENOMEM ? shortage(message, byteSize) : new DeviceException(message, null);
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public long pageBytes() {
        return pageBytes;
    }

    /** {@inheritDoc} Where the system does not say, 1 TiB. */
    @Override
    public long memoryBytes() {
        try (Stream<String> lines = Files.lines(MEMORY, StandardCharsets.US_ASCII)) {
            return lines.filter(line -> line.startsWith("MemTotal:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
                    .findFirst()
                    .orElse(MOST_MEMORY);
        } catch (IOException | UncheckedIOException | NumberFormatException e) {
            return MOST_MEMORY;
        }
    }

    @Override
    public long reserve(long byteSize) {
        if (byteSize > MOST_ADDRESSES || byteSize / pageBytes > MOST_PAGES) {
            throw shortage("No process has that many addresses", byteSize);
        }
        final HostRange range = new HostRange(byteSize, byteSize + spare, pageBytes);
        ranges.add(range); // before the call, as the Java heap may end
        boolean isReserved = false;
        try {
            final long reserved = linux.mmap(0, range.reservedBytes(), LinuxCalls.PROT_NONE, RESERVED, NO_FILE, 0);
            if (reserved < 0) {
                throw mappingException("mmap", reserved, byteSize);
            }
            range.reservedAt(reserved);
            isReserved = true;
            return range.address();
        } finally {
            if (!isReserved) {
                ranges.removeLast();
            }
        }
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
        final long result = linux.munmap(range.reserved(), range.reservedBytes());
        if (result < 0) {
            throw new DeviceException(mappingFailure("munmap", result), null);
        }
        range.end();
        ranges.remove(range);
    }

    @Override
    public long create() {
        final int page = pages.nextClearBit(lowestFree);
        pages.set(page); // before the call, as the Java heap may end
        boolean isCreated = false;
        try {
            if (page >= end) {
                setEnd(page + 1);
            }
            isCreated = true;
        } finally {
            if (!isCreated) {
                pages.clear(page);
            }
        }
        lowestFree = page + 1;
        return page;
    }

    private void setEnd(int newEnd) {
        final long result = linux.ftruncate(file, newEnd * pageBytes);
        if (result < 0) {
            throw newEnd > end && isShortage(result)
                    ? shortage("ftruncate failed with errno " + -result, pageBytes)
                    : failure("ftruncate", result);
        }
        end = newEnd;
    }

    private static boolean isShortage(long result) {
        return result == -LinuxCalls.ENOMEM || result == -LinuxCalls.ENOSPC || result == -LinuxCalls.EFBIG;
    }

    private void requirePage(long page) {
        if (page < 0 || page >= end || !pages.get((int) page)) {
            throw new IllegalArgumentException("there is no page " + page);
        }
    }

    @Override
    public void release(long page) {
        requirePage(page);
        if (page == end - 1) {
            setEnd(pages.previousSetBit((int) page - 1) + 1);
        } else {
            makeHole(page);
        }
        pages.clear((int) page);
        used.clear((int) page);
        lowestFree = Math.min(lowestFree, (int) page);
    }

    private void makeHole(long page) {
        final int mode = LinuxCalls.FALLOC_FL_PUNCH_HOLE | LinuxCalls.FALLOC_FL_KEEP_SIZE;
        final long result = linux.fallocate(file, mode, page * pageBytes, pageBytes);
        if (result < 0) {
            throw failure("fallocate", result);
        }
    }

    @Override
    public void map(long address, long page) {
        final HostRange range = rangeOf(address);
        final int index = range.index(address);
        requirePage(page);
        if (range.isMapped(index)) {
            throw new IllegalArgumentException("a page is mapped at 0x" + Long.toHexString(address));
        }
        requireMappings(range.boundariesWith(index, (int) page));
        final int flags = used.get((int) page) ? MAPPED_AT_ONCE : MAPPED;
        used.set((int) page); // before the call, as the Java heap may end
        range.set(index, (int) page);
        final long result = linux.mmap(address, pageBytes, READ_AND_WRITE, flags, file, page * pageBytes);
        if (result == -LinuxCalls.ENOMEM) {
            range.clear(index);
        }
        if (result < 0) {
            throw mappingException("mmap", result, pageBytes);
        }
    }

    /** Keeps mappings for the rest of the process. */
    private void requireMappings(int more) {
        if (more > 0 && HostRange.allBoundaries() + more > mappingsLimit / 4 * 3) {
            throw shortage(
                    "The pages would take more than three quarters of the process's mappings: " + moreMappings(),
                    pageBytes);
        }
    }

    @Override
    public void unmap(long address) {
        final HostRange range = rangeOf(address);
        final int index = range.index(address);
        if (!range.isMapped(index)) {
            return;
        }
        final long result =
                linux.mmap(address, pageBytes, LinuxCalls.PROT_NONE, RESERVED | LinuxCalls.MAP_FIXED, NO_FILE, 0);
        if (result < 0) {
            throw new DeviceException(mappingFailure("mmap", result), null);
        }
        range.clear(index);
    }

    /**
     * Gives back all that is left: ranges, with the mappings in them, and pages. No page can be created or mapped
     * afterwards. A second close tries again what failed.
     *
     * @throws DeviceException if the system fails
     */
    void close() {
        if (file != NO_FILE) {
            linux.close(file); // closes it even where it fails
            file = NO_FILE;
        }
        pages.clear();
        used.clear();
        end = 0;
        lowestFree = 0;
        while (!ranges.isEmpty()) {
            unreserve(ranges.getLast());
        }
    }

    @Override
    public String toString() {
        return pages.cardinality() + " pages of " + pageBytes + " bytes and " + ranges.size() + " ranges of " + info;
    }
}
