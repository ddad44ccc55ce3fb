package allocator.arena;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The regions of an arena: by id, and by address in the unsigned order of machine addresses. */
final class Regions {
    /** The slots for what was found last, and the logarithm of the bytes that share one. */
    private static final int RECENT = 256;

    private static final int RECENT_SHIFT = 22;

    /** By id; what is {@code null} is free to be used again. */
    private @Nullable Region[] byId = new Region[8];

    /** The bases in order, their highest bit turned over so that signed comparison orders them. */
    private long[] bases = new long[8];

    private Region[] sorted = new Region[8];
    private int count;
    private long units;
    private long largest;

    /**
     * The region that was found last, by some bits of the address: no search, and no branch that goes now here, now
     * there.
     */
    private final @Nullable Region[] recent = new Region[RECENT];

    private static long ordered(long address) {
        return address ^ Long.MIN_VALUE;
    }

    int count() {
        return count;
    }

    /** The units of all regions together. */
    long units() {
        return units;
    }

    /** The units of the largest region that there has been. */
    long largest() {
        return largest;
    }

    /** The region at {@code index} in order of address. */
    Region at(int index) {
        return sorted[index];
    }

    /** The region with an id that is in use. */
    @SuppressWarnings("NullAway") // a chunk's region is in the table as long as the chunk is
    Region get(int id) {
        return byId[id];
    }

    /** Whether another region fits. */
    boolean isFull() {
        return count == Chunks.MAX_REGIONS;
    }

    /** The region in which an address lies. */
    @Nullable
    Region find(long address) {
        final Region region = recent[recentSlot(address)];
        return region != null && region.contains(address) ? region : search(address);
    }

    private static int recentSlot(long address) {
        return (int) (address >>> RECENT_SHIFT) & (RECENT - 1);
    }

    private @Nullable Region search(long address) {
        final long wanted = ordered(address);
        int low = 0;
        for (int length = count; length > 0; ) {
            final int half = (length + 1) >>> 1;
            low = bases[low + half - 1] <= wanted ? low + half : low;
            length -= half;
        }
        if (low == 0) {
            return null;
        }
        final Region region = sorted[low - 1];
        if (!region.contains(address)) {
            return null;
        }
        recent[recentSlot(address)] = region;
        return region;
    }

    /** Makes room, so that the next {@link #add} does not allocate. */
    void ensureSpare() {
        if (count == bases.length) {
            final int length = count + (count >> 1);
            bases = Arrays.copyOf(bases, length);
            sorted = Arrays.copyOf(sorted, length);
            byId = Arrays.copyOf(byId, length);
        }
    }

    /** An id for a new region. */
    int freeId() {
        int id = Math.min(count, byId.length - 1);
        while (byId[id] != null) {
            id = id == 0 ? byId.length - 1 : id - 1;
        }
        return id;
    }

    void add(Region region) {
        final int index = indexFor(region.base);
        System.arraycopy(bases, index, bases, index + 1, count - index);
        System.arraycopy(sorted, index, sorted, index + 1, count - index);
        bases[index] = ordered(region.base);
        sorted[index] = region;
        byId[region.id] = region;
        count++;
        units += region.units;
        largest = Math.max(largest, region.units);
    }

    void remove(Region region) {
        final int index = indexFor(region.base);
        count--;
        System.arraycopy(bases, index + 1, bases, index, count - index);
        System.arraycopy(sorted, index + 1, sorted, index, count - index);
        byId[region.id] = null;
        units -= region.units;
        Arrays.fill(recent, null);
    }

    /** How many regions lie below {@code base}. */
    private int indexFor(long base) {
        final int found = Arrays.binarySearch(bases, 0, count, ordered(base));
        return found < 0 ? -found - 1 : found;
    }

    /** A copy of the list, in order of address. */
    List<Region> toList() {
        return new ArrayList<>(Arrays.asList(sorted).subList(0, count));
    }

    /** Bytes of Java heap that the tables and the regions take. */
    long bookkeepingBytes() {
        long bytes = HeapSize.ofReferences(byId.length)
                + HeapSize.ofReferences(sorted.length)
                + HeapSize.ofReferences(RECENT)
                + HeapSize.ofLongs(bases.length);
        for (int i = 0; i < count; i++) {
            bytes += sorted[i].bookkeepingBytes();
        }
        return bytes;
    }
}
