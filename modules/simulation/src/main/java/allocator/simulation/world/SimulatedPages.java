package allocator.simulation.world;

import allocator.arena.page.PageSource;
import allocator.simulation.schedule.Scheduler;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Extents of a simulated device, with the lowest numbers, and so physical addresses, that are free: what is released
 * comes again soon. Calls fail as those of the {@link SimulatedDevice} do, before they have an effect.
 */
final class SimulatedPages implements PageSource {
    /** The size of a page. */
    static final long PAGE = 4096;

    private static final long FIRST_ADDRESS = 1L << 40;

    /** The physical address of extent 0. */
    private static final long FIRST_PHYSICAL = 1L << 20;

    private final PagedModel model;
    private final int capacity;
    private final TreeMap<Long, Integer> extents = new TreeMap<>();
    private final TreeMap<Long, Long> ranges = new TreeMap<>();
    private final TreeMap<Long, Mapping> mappings = new TreeMap<>();
    private SimulatedDevice device;
    private long nextAddress = FIRST_ADDRESS;
    private int pages;
    private int largest = 1;

    /** An extent at an address. */
    private record Mapping(long extent, long byteSize) {}

    /** A part of an extent. */
    record Piece(long extent, long physical, long byteSize) {}

    /**
     * Creates a source.
     *
     * @param model notes what becomes of memory
     * @param capacity how many pages there are
     */
    SimulatedPages(PagedModel model, int capacity) {
        this.model = model;
        this.capacity = capacity;
    }

    /** Makes calls fail as those of a device do. */
    SimulatedPages on(SimulatedDevice device) {
        this.device = device;
        return this;
    }

    /** Returns the bytes of all extents. */
    long bytesOut() {
        return pages * PAGE;
    }

    /** Returns the most bytes that there are. */
    long capacityBytes() {
        return capacity * PAGE;
    }

    /** Returns the pages of the largest extent so far. */
    int largest() {
        return largest;
    }

    /** Returns the pages of an extent. */
    int size(long extent) {
        return extents.get(extent);
    }

    /** Returns whether an address lies in a range of this source. */
    boolean isInRange(long address) {
        final Map.Entry<Long, Long> range = ranges.floorEntry(address);
        return range != null && address - range.getKey() < range.getValue();
    }

    /** Visits what backs memory that is in use. */
    void forEachPiece(long address, long byteSize, Consumer<Piece> visitor) {
        long from = address;
        while (from < address + byteSize) {
            final Map.Entry<Long, Mapping> mapping = mappings.floorEntry(from);
            Model.require(
                    mapping != null
                            && from - mapping.getKey() < mapping.getValue().byteSize(),
                    "nothing backs memory in use at 0x" + Long.toHexString(from));
            final long end = Math.min(
                    address + byteSize, mapping.getKey() + mapping.getValue().byteSize());
            final long extent = mapping.getValue().extent();
            visitor.accept(new Piece(extent, physical(extent) + from - mapping.getKey(), end - from));
            from = end;
        }
    }

    /** Returns the extent at a physical address. */
    long extentAt(long physical) {
        return extents.floorKey((physical - FIRST_PHYSICAL) / PAGE);
    }

    private static long physical(long extent) {
        return FIRST_PHYSICAL + extent * PAGE;
    }

    private long call(LongSupplier call) {
        device.call();
        return Scheduler.outside(call);
    }

    @Override
    public MemoryInfo info() {
        return SimulatedDevice.INFO;
    }

    @Override
    public long pageBytes() {
        return PAGE;
    }

    @Override
    public long memoryBytes() {
        return capacityBytes();
    }

    @Override
    public long reserve(long byteSize) {
        return call(() -> {
            final long address = nextAddress;
            nextAddress += byteSize + PAGE;
            ranges.put(address, byteSize);
            return address;
        });
    }

    @Override
    public void unreserve(long address, long byteSize) {
        call(() -> {
            Model.require(
                    mappings.subMap(address, address + byteSize).isEmpty(), "a range with mappings is given back");
            Model.require(ranges.remove(address, byteSize), "a range is given back that was not reserved");
            return 0;
        });
    }

    @Override
    public long create(int size) {
        return call(() -> {
            if (size > capacity - pages) {
                throw new OutOfMemoryException(
                        "There are no pages left",
                        Shortage.ofDevice(SimulatedDevice.INFO, size * PAGE, (capacity - pages) * PAGE));
            }
            long number = 0;
            for (final Map.Entry<Long, Integer> extent : extents.entrySet()) {
                if (number + size <= extent.getKey()) {
                    break;
                }
                number = extent.getKey() + extent.getValue();
            }
            extents.put(number, size);
            pages += size;
            largest = Math.max(largest, size);
            return number;
        });
    }

    @Override
    public void release(long extent) {
        call(() -> {
            Model.require(extents.containsKey(extent), "an extent is released that does not exist");
            Model.require(
                    mappings.values().stream().noneMatch(mapping -> mapping.extent() == extent),
                    "an extent is released that is mapped");
            model.released(physical(extent), extents.get(extent) * PAGE);
            pages -= extents.remove(extent);
            return 0;
        });
    }

    @Override
    public void map(long address, long extent) {
        call(() -> {
            Model.require(extents.containsKey(extent), "an extent is mapped that does not exist");
            final long byteSize = extents.get(extent) * PAGE;
            final Map.Entry<Long, Mapping> before = mappings.lowerEntry(address + byteSize);
            Model.require(
                    before == null || before.getKey() + before.getValue().byteSize() <= address,
                    "an extent is mapped where another one is");
            Model.require(
                    address % PAGE == 0 && isInRange(address) && isInRange(address + byteSize - 1),
                    "an extent is mapped outside a range");
            mappings.put(address, new Mapping(extent, byteSize));
            return 0;
        });
    }

    @Override
    public void unmap(long address) {
        call(() -> {
            final Mapping mapping = mappings.get(address);
            if (mapping != null) {
                model.unmapped(address, mapping.byteSize());
                mappings.remove(address);
            }
            return 0;
        });
    }

    /** Fails if anything is left. */
    void requireEmpty() {
        Model.require(
                extents.isEmpty() && mappings.isEmpty() && ranges.isEmpty(),
                "extents " + extents + ", mappings " + mappings + " and ranges " + ranges + " are left");
    }

    @Override
    public void close() {
        requireEmpty();
    }
}
