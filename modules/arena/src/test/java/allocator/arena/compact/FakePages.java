package allocator.arena.compact;

import allocator.arena.page.ReservePages;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.testkit.FakeDevice;
import allocator.testkit.Faults;
import allocator.testkit.FaultyCalls;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A page source without a device. It has a limit, fails on demand, and counts. What its user must not do throws
 * {@link AssertionError}. Pages have contents, which take up memory only where they were used.
 *
 * <p>Pages are numbered, and an extent has the number of its first page. Numbers of released pages are reused, the
 * lowest ones first; an address never is. One thread may make calls while others read and write.
 */
public final class FakePages implements ReservePages.Pages {
    private static final long FIRST_ADDRESS = 1L << 40;
    private static final long END_OF_ADDRESSES = 1L << 47;

    /** What the contents of an extent are before anything is written. */
    private static final byte UNDEFINED = (byte) 0xDB;

    private final MemoryInfo info = FakeDevice.INFO;
    private final long pageBytes;
    private final long maxPages;
    private final Consumer<String> calls;
    private final FaultyCalls faults;

    private final TreeMap<Long, Extent> extents = new TreeMap<>();
    private final BitSet pages = new BitSet();
    private final TreeMap<Long, Long> ranges = new TreeMap<>();
    private final TreeMap<Long, Extent> mapped = new TreeMap<>();
    private Consumer<String> hook = Faults.NONE;
    private LongConsumer unmapHook = address -> {};
    private long nextAddress;
    private long endOfAddresses = END_OF_ADDRESSES;
    private boolean failuresTakeEffect;
    private long creates;
    private long maps;
    private long unmaps;

    /** An extent and how often it is mapped. */
    private static final class Extent {
        private final int number;
        private final int size;
        private final long pageBytes;
        private int mappings;
        private byte[] contents;

        Extent(int number, int size, long pageBytes) {
            this.number = number;
            this.size = size;
            this.pageBytes = pageBytes;
        }

        long byteSize() {
            return size * pageBytes;
        }

        byte[] contents() {
            if (contents == null) {
                contents = new byte[Math.toIntExact(byteSize())];
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
        calls = call -> {
            hook.accept(call);
            faults.accept(call);
        };
        nextAddress = Math.max(FIRST_ADDRESS, pageBytes);
    }

    private static void require(boolean isKept, String misuse) {
        if (!isKept) {
            throw new AssertionError(misuse);
        }
    }

    /** Sets what is called with the name of each call, before it has any effect. */
    void before(Consumer<String> hook) {
        this.hook = hook;
    }

    /** Leaves so many bytes of addresses to be reserved. */
    void limitAddresses(long byteSize) {
        endOfAddresses = nextAddress + byteSize;
    }

    /** Sets what is called with the address of each page that is about to be unmapped. */
    void beforeUnmap(LongConsumer hook) {
        unmapHook = hook;
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
        return pages.cardinality();
    }

    /** Returns how many mappings there are. */
    int mappings() {
        return mapped.size();
    }

    /** Returns how many ranges are reserved. */
    int ranges() {
        return ranges.size();
    }

    /** Returns the bytes of all reserved ranges. */
    long reservedBytes() {
        return ranges.values().stream().mapToLong(Long::longValue).sum();
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
        final Map.Entry<Long, Extent> mapping = mappingAt(address);
        return mapping == null ? -1 : mapping.getValue().number + (address - mapping.getKey()) / pageBytes;
    }

    /** Returns the extent to which a page belongs. */
    long extentWith(long page) {
        return extents.floorKey(page);
    }

    /** Returns how many pages an extent has. */
    int sizeOf(long extent) {
        return requireExtent(extent).size;
    }

    /** Returns the pages that exist. */
    Set<Long> pages() {
        return pages.stream().mapToObj(page -> (long) page).collect(Collectors.toSet());
    }

    private Map.Entry<Long, Extent> mappingAt(long address) {
        final Map.Entry<Long, Extent> mapping = mapped.floorEntry(address);
        return mapping == null
                        || address - mapping.getKey() >= mapping.getValue().byteSize()
                ? null
                : mapping;
    }

    /** Returns at how many addresses an extent is mapped. */
    int mappingsOf(long extent) {
        return requireExtent(extent).mappings;
    }

    /** Writes to memory where an extent is mapped. */
    synchronized void write(long address, byte[] bytes) {
        final Map.Entry<Long, Extent> mapping = requireInside(address, bytes.length);
        System.arraycopy(bytes, 0, mapping.getValue().contents(), (int) (address - mapping.getKey()), bytes.length);
    }

    /** Reads memory where an extent is mapped. */
    synchronized byte[] read(long address, int byteSize) {
        final Map.Entry<Long, Extent> mapping = requireInside(address, byteSize);
        final int offset = (int) (address - mapping.getKey());
        return Arrays.copyOfRange(mapping.getValue().contents(), offset, offset + byteSize);
    }

    private Map.Entry<Long, Extent> requireInside(long address, int byteSize) {
        final Map.Entry<Long, Extent> mapping = mappingAt(address);
        require(mapping != null, "nothing is mapped at 0x" + Long.toHexString(address));
        require(
                byteSize <= mapping.getKey() + mapping.getValue().byteSize() - address,
                byteSize + " bytes reach beyond the extent");
        return mapping;
    }

    /** Throws if anything is left. */
    void requireEmpty() {
        require(
                pages.isEmpty() && mapped.isEmpty() && ranges.isEmpty(),
                "pages " + pages + ", mappings "
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
        calls.accept("reserve");
        if (byteSize > endOfAddresses - nextAddress) {
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
        calls.accept("unreserve");
        ranges.remove(address);
    }

    @Override
    public long create(int size) {
        require(size > 0, "an extent of " + size + " pages");
        calls.accept("create");
        if (size > maxPages - pages.cardinality()) {
            throw new OutOfMemoryException(
                    "There are no pages left",
                    Shortage.ofDevice(info, size * pageBytes, maxPages - pages.cardinality()));
        }
        int number = pages.nextClearBit(0);
        for (int used = pages.nextSetBit(number); used >= 0 && used < number + size; used = pages.nextSetBit(number)) {
            number = pages.nextClearBit(used);
        }
        pages.set(number, number + size);
        extents.put((long) number, new Extent(number, size, pageBytes));
        creates++;
        return number;
    }

    private Extent requireExtent(long number) {
        final Extent extent = extents.get(number);
        require(extent != null, "there is no extent " + number);
        return extent;
    }

    @Override
    public void release(long extent) {
        final Extent released = requireExtent(extent);
        require(released.mappings == 0, "extent " + extent + " is released while it is mapped");
        calls.accept("release");
        extents.remove(extent);
        pages.clear(released.number, released.number + released.size);
    }

    private void requireReserved(long address, long byteSize) {
        final Map.Entry<Long, Long> range = ranges.floorEntry(address);
        require(
                address % pageBytes == 0 && range != null && address - range.getKey() <= range.getValue() - byteSize,
                "0x" + Long.toHexString(address) + " is no address of a page in a reserved range");
    }

    @Override
    public void map(long address, long extent) {
        final Extent found = requireExtent(extent);
        requireReserved(address, found.byteSize());
        require(
                mapped.subMap(address, address + found.byteSize()).isEmpty() && mappingAt(address) == null,
                "extent " + extent + " is mapped where another one is");
        run("map", () -> {
            mapped.put(address, found);
            found.mappings++;
            maps++;
        });
    }

    @Override
    public void unmap(long address) {
        requireReserved(address, pageBytes);
        final Map.Entry<Long, Extent> mapping = mappingAt(address);
        require(mapping == null || mapping.getKey() == address, "a part of a mapping is to be ended");
        for (int page = 0; mapping != null && page < mapping.getValue().size; page++) {
            unmapHook.accept(address + page * pageBytes);
        }
        run("unmap", () -> {
            final Extent unmapped = mapped.remove(address);
            if (unmapped != null) {
                unmapped.mappings--;
                unmaps++;
            }
        });
    }

    @Override
    public void clear(long address, long byteSize) {}

    @Override
    public void read(long address, MemorySegment target) {}

    @Override
    public void protect(long address, long byteSize) {}

    @Override
    public void close() {
        for (Long address : List.copyOf(mapped.keySet())) {
            unmap(address);
        }
        for (Long extent : List.copyOf(extents.keySet())) {
            release(extent);
        }
        for (Map.Entry<Long, Long> range : Map.copyOf(ranges).entrySet()) {
            unreserve(range.getKey(), range.getValue());
        }
    }

    /** Makes a call that may have an effect although it throws. */
    private void run(String name, Runnable effect) {
        try {
            calls.accept(name);
        } catch (Throwable e) {
            if (failuresTakeEffect && !(e instanceof OutOfMemoryException)) {
                effect.run();
            }
            throw e;
        }
        synchronized (this) {
            effect.run();
        }
    }
}
