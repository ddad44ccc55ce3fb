package allocator.arena.upstream;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The sizes of allocations by start address, in the unsigned order of machine addresses: of reserves, or of memory that
 * could not be returned.
 */
public final class SizesByAddress {
    /** By address with the highest bit flipped, so that the order is unsigned. */
    private final TreeMap<Long, Long> sizes = new TreeMap<>();

    /** Adds an allocation. */
    public void put(long address, long byteSize) {
        sizes.put(ordered(address), byteSize);
    }

    private static long ordered(long address) {
        return address ^ Long.MIN_VALUE;
    }

    /** Removes the allocation that starts at {@code address} and returns its size; -1 if there is none. */
    public long remove(long address) {
        final Long byteSize = sizes.remove(ordered(address));
        return byteSize == null ? -1 : byteSize;
    }

    /** Returns the size of the allocation that starts at {@code address}, -1 if there is none. */
    public long sizeOf(long address) {
        return sizes.getOrDefault(ordered(address), -1L);
    }

    /** Returns the start and the size of the allocation that contains {@code address}, {@code null} if none does. */
    public Map.@Nullable Entry<Long, Long> containing(long address) {
        final Map.Entry<Long, Long> entry = sizes.floorEntry(ordered(address));
        return entry == null || Long.compareUnsigned(address - ordered(entry.getKey()), entry.getValue()) >= 0
                ? null
                : Map.entry(ordered(entry.getKey()), entry.getValue());
    }

    /** Removes every allocation that overlaps the {@code byteSize} bytes at {@code address} and returns their bytes. */
    public long removeOverlapping(long address, long byteSize) {
        final long first = ordered(address);
        final Map.Entry<Long, Long> before = sizes.lowerEntry(first);
        long bytes = 0;
        if (before != null && Long.compareUnsigned(first - before.getKey(), before.getValue()) < 0) {
            sizes.remove(before.getKey());
            bytes += before.getValue();
        }
        final Map<Long, Long> inside = sizes.subMap(first, true, first + byteSize - 1, true);
        bytes += inside.values().stream().mapToLong(Long::longValue).sum();
        inside.clear();
        return bytes;
    }

    /** Returns the number of allocations. */
    public int count() {
        return sizes.size();
    }

    /** Returns the bytes of all allocations. */
    public long totalBytes() {
        return sizes.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Calls {@code action} with the address and the size of each allocation, on a copy. */
    public void forEach(BiConsumer<Long, Long> action) {
        new TreeMap<>(sizes).forEach((key, byteSize) -> action.accept(ordered(key), byteSize));
    }

    /** Returns the bytes of Java heap: about what a tree entry with two boxed numbers takes. */
    public long bookkeepingBytes() {
        return 48 + 88L * sizes.size();
    }
}
