package allocator.arena.chunk;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The regions of a lane, by id and by address in the unsigned order of machine addresses. */
public final class Regions {
    /** Slots for the regions found last. */
    private static final int RECENT = 256;

    /** The binary logarithm of the bytes that share a slot. */
    private static final int RECENT_SHIFT = 22;

    private static final int LEAST = 8;

    /** By id; {@code null} where an id is free. */
    private @Nullable Region[] byId = new Region[LEAST];

    /** The bases in order, with the highest bit flipped so that signed comparison orders them. */
    private long[] bases = new long[LEAST];

    private @Nullable Region[] sorted = new Region[LEAST];
    private int count;

    /** The only region, {@code null} if there is none or more than one. Most calls need no other. */
    private @Nullable Region only;

    private long granules;
    private long largest;

    /** The regions found last, by some bits of the address: saves the search, with its badly predicted branches. */
    private final @Nullable Region[] recent = new Region[RECENT];

    private static long ordered(long address) {
        return address ^ Long.MIN_VALUE;
    }

    /** Returns the number of regions. */
    public int count() {
        return count;
    }

    /** Returns the granules of all regions together. */
    long granules() {
        return granules;
    }

    /** Returns the granules of the largest region that there has been. */
    long largest() {
        return largest;
    }

    /** Returns the region at {@code index} in order of address. */
    public Region at(int index) {
        return sorted[index];
    }

    /** Returns the region with an id that is in use. */
    @SuppressWarnings("NullAway") // a chunk's region is in the table as long as the chunk is
    Region get(int id) {
        final Region single = only;
        return single != null ? single : byId[id];
    }

    /** Returns whether there is no room for another region. */
    public boolean isFull() {
        return count == Chunks.MAX_REGIONS;
    }

    /** Returns the region that contains an address, {@code null} if none does. */
    public @Nullable Region find(long address) {
        final Region single = only;
        final Region region = single != null ? single : recent[recentSlot(address)];
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
            final long[] longerBases = Arrays.copyOf(bases, length);
            final Region[] longerSorted = Arrays.copyOf(sorted, length);
            byId = Arrays.copyOf(byId, length);
            sorted = longerSorted;
            bases = longerBases;
        }
    }

    /** Makes the tables smaller if they are much larger than what they hold. */
    void compact() {
        int ids = byId.length;
        while (ids > 0 && byId[ids - 1] == null) {
            ids--;
        }
        final int length = Math.max(Math.max(ids, count), LEAST) * 3 / 2;
        if (length < bases.length / 2) {
            final long[] shorterBases = Arrays.copyOf(bases, length);
            final Region[] shorterSorted = Arrays.copyOf(sorted, length);
            byId = Arrays.copyOf(byId, length);
            sorted = shorterSorted;
            bases = shorterBases;
        }
    }

    /** Returns an id that no region has. */
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
        only = count == 1 ? region : null;
        granules += region.granules;
        largest = Math.max(largest, region.granules);
    }

    void remove(Region region) {
        final int index = indexFor(region.base);
        count--;
        System.arraycopy(bases, index + 1, bases, index, count - index);
        System.arraycopy(sorted, index + 1, sorted, index, count - index);
        sorted[count] = null; // so that the region can be collected
        only = count == 1 ? sorted[0] : null;
        byId[region.id] = null;
        granules -= region.granules;
        Arrays.fill(recent, null);
    }

    /** Returns how many regions lie below {@code base}. */
    private int indexFor(long base) {
        final int found = Arrays.binarySearch(bases, 0, count, ordered(base));
        return found < 0 ? -found - 1 : found;
    }

    /** Returns a copy of the list, in order of address. */
    public List<Region> toList() {
        return new ArrayList<>(Arrays.asList(sorted).subList(0, count));
    }
}
