package allocator.provider.support;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Sizes of memory by start address, in unsigned order of addresses. Not safe for use by several threads.
 *
 * <p>All operations but {@link #forEach} and {@link #totalBytes} are logarithmic in the number of entries. An entry
 * takes about 90 bytes of Java heap: meant for memory taken from a device, not for the blocks of an arena.
 */
public final class LiveSizes {
    /** What {@link #remove} and {@link #sizeOf} return where no memory starts. */
    public static final long NONE = -1;

    private static final long EMPTY_HEAP_BYTES = 48;
    private static final long ENTRY_HEAP_BYTES = 88;

    /** By address with its highest bit inverted: signed order of keys is unsigned order of addresses. */
    private final TreeMap<Long, Long> sizes = new TreeMap<>();

    /** Creates an empty table. */
    public LiveSizes() {}

    private static long inverted(long address) {
        return address ^ Long.MIN_VALUE;
    }

    /**
     * Adds memory, or changes its size.
     *
     * @param address first byte
     * @param byteSize size in bytes, above zero
     */
    public void put(long address, long byteSize) {
        sizes.put(inverted(address), byteSize);
    }

    /**
     * Removes the memory that starts at an address.
     *
     * @param address first byte
     * @return its size in bytes, {@link #NONE} if no memory starts there
     */
    public long remove(long address) {
        final Long byteSize = sizes.remove(inverted(address));
        return byteSize == null ? NONE : byteSize;
    }

    /**
     * Returns the size of the memory that starts at an address.
     *
     * @param address first byte
     * @return its size in bytes, {@link #NONE} if no memory starts there
     */
    public long sizeOf(long address) {
        return sizes.getOrDefault(inverted(address), NONE);
    }

    /**
     * Returns the memory that an address lies in.
     *
     * @param address any address
     * @return start and size, {@code null} if it lies in none
     */
    public Map.@Nullable Entry<Long, Long> containing(long address) {
        final Map.Entry<Long, Long> below = sizes.floorEntry(inverted(address));
        if (below == null) {
            return null;
        }
        final long start = inverted(below.getKey());
        return Long.compareUnsigned(address - start, below.getValue()) < 0 ? Map.entry(start, below.getValue()) : null;
    }

    /**
     * Removes all memory that overlaps a range.
     *
     * @param address first byte of the range
     * @param byteSize size of the range in bytes, above zero
     * @return bytes removed
     */
    public long removeOverlapping(long address, long byteSize) {
        final long first = inverted(address);
        final Map.Entry<Long, Long> below = sizes.lowerEntry(first);
        long bytes = 0;
        if (below != null && Long.compareUnsigned(first - below.getKey(), below.getValue()) < 0) {
            sizes.remove(below.getKey());
            bytes += below.getValue();
        }
        final Map<Long, Long> inside = sizes.subMap(first, true, first + byteSize - 1, true);
        bytes += sum(inside);
        inside.clear();
        return bytes;
    }

    private static long sum(Map<Long, Long> sizes) {
        return sizes.values().stream().mapToLong(Long::longValue).sum();
    }

    /**
     * Returns whether there is no entry.
     *
     * @return true if {@link #count} is zero
     */
    public boolean isEmpty() {
        return sizes.isEmpty();
    }

    /**
     * Returns how many entries there are.
     *
     * @return the number of start addresses
     */
    public int count() {
        return sizes.size();
    }

    /**
     * Returns the sum of all sizes.
     *
     * @return bytes
     */
    public long totalBytes() {
        return sum(sizes);
    }

    /**
     * Calls an action with address and size of each entry, in order of address.
     *
     * @param action may change this table; changes do not affect the iteration
     */
    public void forEach(BiConsumer<Long, Long> action) {
        new TreeMap<>(sizes).forEach((key, byteSize) -> action.accept(inverted(key), byteSize));
    }

    /** Removes all entries. */
    public void clear() {
        sizes.clear();
    }

    /**
     * Estimates the Java heap that this table takes.
     *
     * @return bytes
     */
    public long heapBytes() {
        return EMPTY_HEAP_BYTES + ENTRY_HEAP_BYTES * sizes.size();
    }
}
