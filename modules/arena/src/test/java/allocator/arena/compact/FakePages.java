package allocator.arena.compact;

import allocator.arena.page.PageSource;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FakeDevice;
import allocator.testkit.FaultyCalls;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A page source without a device. It has a limit, fails on demand, and counts. What its user must not do throws
 * {@link AssertionError}. Pages have contents, which take up memory only where they were used.
 *
 * <p>The number of a released page is reused, the lowest first; an address never is.
 */
public final class FakePages implements PageSource {
    private static final long FIRST_ADDRESS = 1L << 40;
    private static final long END_OF_ADDRESSES = 1L << 47;

    /** What the contents of a page are before anything is written. */
    private static final byte UNDEFINED = (byte) 0xDB;

    private final MemoryInfo info = FakeDevice.INFO;
    private final long pageBytes;
    private final long maxPages;
    private final FaultyCalls faults;

    private final Map<Long, Page> pages = new HashMap<>();
    private final PriorityQueue<Long> releasedNumbers = new PriorityQueue<>();
    private final TreeMap<Long, Long> ranges = new TreeMap<>();
    private final TreeMap<Long, Page> mapped = new TreeMap<>();
    private long nextAddress;
    private boolean failuresTakeEffect;
    private long creates;
    private long maps;
    private long unmaps;

    /** A page and how often it is mapped. */
    private static final class Page {
        private final long number;
        private final long byteSize;
        private int mappings;
        private byte[] contents;

        Page(long number, long byteSize) {
            this.number = number;
            this.byteSize = byteSize;
        }

        byte[] contents() {
            if (contents == null) {
                contents = new byte[Math.toIntExact(byteSize)];
                Arrays.fill(contents, UNDEFINED);
            }
            return contents;
        }
    }

    /**
     * Creates a source.
     *
     * @param pageBytes the size of a page
     * @param maxPages how many pages may exist at once
     */
    public FakePages(long pageBytes, long maxPages) {
        this(pageBytes, maxPages, new FaultyCalls());
    }

    /** Creates a source whose calls are passed to {@code faults}, which may throw, before they have any effect. */
    FakePages(long pageBytes, long maxPages, FaultyCalls faults) {
        require(pageBytes >= 4096 && Long.bitCount(pageBytes) == 1, "pages of " + pageBytes + " bytes");
        this.pageBytes = pageBytes;
        this.maxPages = maxPages;
        this.faults = faults;
        nextAddress = Math.max(FIRST_ADDRESS, pageBytes);
    }

    private static void require(boolean isKept, String misuse) {
        if (!isKept) {
            throw new AssertionError(misuse);
        }
    }

    /** Makes one call throw; {@code 1} is the next. Replaces an earlier choice. */
    void failAt(int callFromNow, Supplier<Throwable> failure) {
        faults.failAt(faults.calls() + callFromNow, false, failure);
    }

    /** Makes all calls throw from one on; {@code 1} is the next. Replaces an earlier choice. */
    void failFrom(int callFromNow, Supplier<Throwable> failure) {
        faults.failAt(faults.calls() + callFromNow, true, failure);
    }

    /** Makes no further call throw. */
    void stopFailing() {
        faults.stop();
    }

    /** Sets whether map and unmap, when they throw what is no lack of memory, are made all the same: both may. */
    void failuresTakeEffect(boolean takeEffect) {
        failuresTakeEffect = takeEffect;
    }

    /** Returns how many calls failed on demand. */
    long failures() {
        return faults.failures();
    }

    /** Returns how many pages exist. */
    int livePages() {
        return pages.size();
    }

    /** Returns at how many addresses a page is mapped. */
    int mappings() {
        return mapped.size();
    }

    /** Returns how many ranges are reserved. */
    int ranges() {
        return ranges.size();
    }

    /** Returns how many calls of create succeeded. */
    long creates() {
        return creates;
    }

    /** Returns how many calls of map had an effect. */
    long maps() {
        return maps;
    }

    /** Returns how many calls of unmap had an effect, of those where a page was mapped. */
    long unmaps() {
        return unmaps;
    }

    /** Returns the page that is mapped at an address, which need not be the first of it; {@code -1} if none is. */
    long pageAt(long address) {
        final Page page = mapped.get(address - Math.floorMod(address, pageBytes));
        return page == null ? -1 : page.number;
    }

    /** Returns at how many addresses a page is mapped. */
    int mappingsOf(long page) {
        return requirePage(page).mappings;
    }

    /** Writes to memory where a page is mapped. */
    void write(long address, byte[] bytes) {
        final int offset = requireInside(address, bytes.length);
        System.arraycopy(bytes, 0, mapped.get(address - offset).contents(), offset, bytes.length);
    }

    /** Reads memory where a page is mapped. */
    byte[] read(long address, int byteSize) {
        final int offset = requireInside(address, byteSize);
        return Arrays.copyOfRange(mapped.get(address - offset).contents(), offset, offset + byteSize);
    }

    /** Returns the offset of an address in its page. */
    private int requireInside(long address, int byteSize) {
        final long offset = Math.floorMod(address, pageBytes);
        require(pageAt(address) >= 0, "nothing is mapped at 0x" + Long.toHexString(address));
        require(byteSize <= pageBytes - offset, byteSize + " bytes reach beyond the page");
        return Math.toIntExact(offset);
    }

    /** Throws if anything is left. */
    void requireEmpty() {
        require(
                pages.isEmpty() && mapped.isEmpty() && ranges.isEmpty(),
                "pages " + pages.keySet() + ", mappings "
                        + mapped.entrySet().stream()
                                .map(entry -> "0x%x: %d".formatted(entry.getKey(), entry.getValue().number))
                                .collect(Collectors.joining(", ", "[", "]"))
                        + " and ranges " + ranges + " are left");
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
        return maxPages * pageBytes;
    }

    @Override
    public long reserve(long byteSize) {
        require(byteSize > 0 && byteSize % pageBytes == 0, "a range of " + byteSize + " bytes");
        faults.accept("reserve");
        if (byteSize > END_OF_ADDRESSES - nextAddress) {
            throw new OutOfMemoryException(
                    "There are no addresses left", Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
        }
        final long address = nextAddress;
        nextAddress += byteSize + pageBytes;
        ranges.put(address, byteSize);
        return address;
    }

    @Override
    public void unreserve(long address, long byteSize) {
        require(
                ranges.getOrDefault(address, 0L) == byteSize && byteSize > 0,
                byteSize + " bytes at 0x" + Long.toHexString(address) + " are not reserved");
        require(mapped.subMap(address, address + byteSize).isEmpty(), "a range with mappings is given back");
        faults.accept("unreserve");
        ranges.remove(address);
    }

    @Override
    public long create() {
        faults.accept("create");
        if (pages.size() >= maxPages) {
            throw new OutOfMemoryException("There are no pages left", Shortage.ofDevice(info, pageBytes, 0));
        }
        final Long reused = releasedNumbers.poll();
        final long number = reused == null ? pages.size() : reused;
        pages.put(number, new Page(number, pageBytes));
        creates++;
        return number;
    }

    private Page requirePage(long number) {
        final Page page = pages.get(number);
        require(page != null, "there is no page " + number);
        return page;
    }

    @Override
    public void release(long page) {
        require(requirePage(page).mappings == 0, "page " + page + " is released while it is mapped");
        faults.accept("release");
        pages.remove(page);
        releasedNumbers.add(page);
    }

    private void requireReserved(long address) {
        final Map.Entry<Long, Long> range = ranges.floorEntry(address);
        require(
                address % pageBytes == 0 && range != null && address - range.getKey() < range.getValue(),
                "0x" + Long.toHexString(address) + " is no address of a page in a reserved range");
    }

    @Override
    public void map(long address, long page) {
        requireReserved(address);
        require(!mapped.containsKey(address), "page " + page + " is mapped where another one is");
        final Page found = requirePage(page);
        run("map", () -> {
            mapped.put(address, found);
            found.mappings++;
            maps++;
        });
    }

    @Override
    public void unmap(long address) {
        requireReserved(address);
        run("unmap", () -> {
            final Page unmapped = mapped.remove(address);
            if (unmapped != null) {
                unmapped.mappings--;
                unmaps++;
            }
        });
    }

    /** Makes a call that may have an effect although it throws. */
    private void run(String name, Runnable effect) {
        try {
            faults.accept(name);
        } catch (Throwable e) {
            if (failuresTakeEffect && !(e instanceof OutOfMemoryException)) {
                effect.run();
            }
            throw e;
        }
        effect.run();
    }
}
