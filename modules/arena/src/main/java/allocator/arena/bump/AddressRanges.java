package allocator.arena.bump;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Disjoint ranges of addresses with their sizes, in unsigned order of address. */
final class AddressRanges {
    /** Start addresses with the sign bit inverted, so that signed order of keys is unsigned order of addresses. */
    private final TreeMap<Long, Long> sizes = new TreeMap<>();

    private static long key(long address) {
        return address ^ Long.MIN_VALUE;
    }

    boolean isEmpty() {
        return sizes.isEmpty();
    }

    void put(long address, long byteSize) {
        sizes.put(key(address), byteSize);
    }

    /** Removes the range that starts at an address and returns its size; {@code -1} if there is none. */
    long remove(long address) {
        final Long byteSize = sizes.remove(key(address));
        return byteSize == null ? -1 : byteSize;
    }

    /** Returns the start and the size of the range that contains an address; {@code null} if there is none. */
    Map.@Nullable Entry<Long, Long> containing(long address) {
        final Map.Entry<Long, Long> entry = sizes.floorEntry(key(address));
        return entry == null || Long.compareUnsigned(address - key(entry.getKey()), entry.getValue()) >= 0
                ? null
                : Map.entry(key(entry.getKey()), entry.getValue());
    }

    /** Removes every range that overlaps the given one and returns the sum of their sizes. */
    long removeOverlapping(long address, long byteSize) {
        final long first = key(address);
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

    /** Calls {@code action} with the start and the size of each range; {@code action} may add and remove ranges. */
    void forEach(BiConsumer<Long, Long> action) {
        new TreeMap<>(sizes).forEach((key, byteSize) -> action.accept(key(key), byteSize));
    }
}
