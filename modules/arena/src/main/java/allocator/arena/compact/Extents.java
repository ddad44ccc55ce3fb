package allocator.arena.compact;

import allocator.arena.chunk.ConsistencyCheck;
import java.util.Arrays;

/**
 * The extents that exist, and what uses them. An extent may be mapped at several places, and is used through one
 * mapping at a time, its <em>current</em> one: that through which it is or was last in use. Its uses are the live
 * chunks there. An extent without uses is <em>idle</em>, unless it is <em>in hand</em>: taken by the thread that calls
 * the device, to be mapped or released.
 *
 * <p>Guarded by the arena's lock.
 */
public final class Extents {
    /** No extent, and no mapping. */
    static final int NONE = -1;

    /** The current mapping of an extent that has none: less than any place by more than any size. */
    private static final int NOWHERE = Integer.MIN_VALUE / 2;

    /** The uses of an extent that is in hand. */
    private static final int IN_HAND = Integer.MIN_VALUE;

    /** Tables are given back when this part of them is not used. */
    static final int SPARSE = 4;

    private static final int LEAST_GROWTH = 16;

    private static final int RECORD = 4;
    private static final int CURRENT = 1;
    private static final int USES = 2;

    /** By extent: its number in the source. Of an extent that does not exist: -1. */
    private long[] numbers = new long[0];

    /**
     * By extent: its size in pages, 0 if it does not exist; its current mapping; the live chunks there. One table, as
     * each step along a range reads all three.
     */
    private int[] records = new int[0];

    /** By extent: the first of its mappings. */
    private int[] mappings = new int[0];

    /** By extent: how many mappings it has. */
    private int[] mappingCounts = new int[0];

    /** By extent: the search in which it was last found usable. */
    private long[] searches = new long[0];

    /** By extent: one bit if it is idle. */
    private long[] idleBits = new long[0];

    /**
     * By extent: what was freed at mappings that were current before. That memory may be elsewhere in the extent than
     * what has been used since.
     */
    final LastFrees earlier;

    /** Extents ever taken from the tables. */
    private int used;

    private int count;
    private int pages;
    private int idlePages;

    Extents(FreeingStreams streams) {
        earlier = new LastFrees(streams);
    }

    /** Makes room for one more extent. */
    void ensureRoom() {
        if (used == numbers.length && count == used) {
            setLength(used + Math.max(used >> 2, LEAST_GROWTH));
        }
    }

    /** Gives back Java heap if there is room for many more extents than there are. */
    void compact() {
        if (used + LEAST_GROWTH < numbers.length / SPARSE) {
            setLength(used + LEAST_GROWTH);
        }
    }

    private void setLength(int length) {
        final int[] newRecords = Arrays.copyOf(records, length * RECORD);
        final int[] newMappings = Arrays.copyOf(mappings, length);
        final int[] newCounts = Arrays.copyOf(mappingCounts, length);
        final long[] newSearches = Arrays.copyOf(searches, length);
        final long[] newIdle = Arrays.copyOf(idleBits, (length + Long.SIZE - 1) / Long.SIZE);
        final long[] newNumbers = Arrays.copyOf(numbers, length);
        if (length > numbers.length) {
            earlier.setLength(length);
        }
        Arrays.fill(newNumbers, used, length, NONE);
        Arrays.fill(newMappings, used, length, NONE);
        idleBits = newIdle;
        searches = newSearches;
        mappingCounts = newCounts;
        mappings = newMappings;
        records = newRecords;
        numbers = newNumbers;
        earlier.setLength(length); // last: what it has more of is not used
    }

    /** Adds an extent, which is in hand and mapped nowhere. Call {@link #ensureRoom} before. */
    public int add(long number, int size) {
        int extent = used;
        if (count < used) {
            extent = 0;
            while (numbers[extent] >= 0) {
                extent++;
            }
        } else {
            used++;
        }
        numbers[extent] = number;
        records[extent * RECORD] = size;
        setNoCurrent(extent);
        setUses(extent, IN_HAND);
        setMappings(extent, NONE, 0);
        earlier.clear(extent);
        count++;
        pages += size;
        return extent;
    }

    /** Removes an extent that is in hand and mapped nowhere. */
    public void remove(int extent) {
        numbers[extent] = NONE;
        setUses(extent, 0);
        count--;
        pages -= size(extent);
        records[extent * RECORD] = 0;
        while (used > 0 && numbers[used - 1] < 0) {
            used--;
        }
    }

    /** Returns how many extents there have been at once at most. */
    public int capacity() {
        return used;
    }

    /** Returns the number of an extent in the source, negative if it does not exist. */
    public long number(int extent) {
        return numbers[extent];
    }

    /** Returns the size of an extent in pages. */
    public int size(int extent) {
        return records[extent * RECORD];
    }

    /** Returns whether a place belongs to the current mapping of an extent that is mapped there. */
    boolean isCurrent(int extent, int place) {
        return place - current(extent) < size(extent) && place >= current(extent);
    }

    boolean hasCurrent(int extent) {
        return current(extent) != NOWHERE;
    }

    /** Returns the current mapping of an extent that has one. */
    int current(int extent) {
        return records[extent * RECORD + CURRENT];
    }

    void setCurrent(int extent, int mapping) {
        records[extent * RECORD + CURRENT] = mapping;
    }

    void setNoCurrent(int extent) {
        setCurrent(extent, NOWHERE);
    }

    /** Returns the first mapping of an extent, {@link #NONE} if there is none. */
    public int mappings(int extent) {
        return mappings[extent];
    }

    /** Sets the first mapping, and how many there are. */
    void setMappings(int extent, int mapping, int mappingCount) {
        mappings[extent] = mapping;
        mappingCounts[extent] = mappingCount;
    }

    int mappingCount(int extent) {
        return mappingCounts[extent];
    }

    boolean isIdle(int extent) {
        return uses(extent) == 0 && numbers[extent] >= 0;
    }

    public boolean isInHand(int extent) {
        return uses(extent) == IN_HAND;
    }

    /** Returns how many live chunks use an extent; 0 if it is idle, less if it is in hand. */
    int uses(int extent) {
        return records[extent * RECORD + USES];
    }

    private void setUses(int extent, int uses) {
        records[extent * RECORD + USES] = uses;
    }

    /** Counts a use of an extent that is not in hand. */
    void use(int extent) {
        if (records[extent * RECORD + USES]++ == 0) {
            unsetIdle(extent);
        }
    }

    /** Ends a use. */
    void release(int extent) {
        if (--records[extent * RECORD + USES] == 0) {
            setIdle(extent);
        }
    }

    private void setIdle(int extent) {
        idleBits[extent >> 6] |= 1L << extent;
        idlePages += size(extent);
    }

    private void unsetIdle(int extent) {
        idleBits[extent >> 6] &= ~(1L << extent);
        idlePages -= size(extent);
    }

    /** Takes an extent that is idle. */
    public void take(int extent) {
        unsetIdle(extent);
        setUses(extent, IN_HAND);
    }

    /** Makes an extent that is in hand idle. */
    public void putBack(int extent) {
        setUses(extent, 0);
        setIdle(extent);
    }

    /** Makes all extents that are in hand idle. */
    public void putBackAll() {
        for (int extent = 0; extent < used; extent++) {
            if (isInHand(extent)) {
                putBack(extent);
            }
        }
    }

    /** Takes all extents, whatever uses them. */
    public void takeAll() {
        for (int extent = 0; extent < used; extent++) {
            setUses(extent, numbers[extent] >= 0 ? IN_HAND : 0);
        }
        Arrays.fill(idleBits, 0);
        idlePages = 0;
    }

    /** Forgets all uses. */
    void clearUses() {
        Arrays.fill(idleBits, 0);
        idlePages = 0;
        for (int extent = 0; extent < used; extent++) {
            if (numbers[extent] >= 0 && !isInHand(extent)) {
                putBack(extent);
            }
        }
    }

    /** Returns the first idle extent from one on, {@link #NONE} if there is none. */
    int nextIdle(int from) {
        int word = from >> 6;
        if (word >= idleBits.length) {
            return NONE;
        }
        long bits = idleBits[word] & (-1L << from);
        while (bits == 0) {
            if (++word == idleBits.length) {
                return NONE;
            }
            bits = idleBits[word];
        }
        return (word << 6) + Long.numberOfTrailingZeros(bits);
    }

    /** Returns the number of idle extents. */
    public int idleCount() {
        int idle = 0;
        for (final long bits : idleBits) {
            idle += Long.bitCount(bits);
        }
        return idle;
    }

    /** Returns whether a search has found an extent usable. */
    boolean isFoundBy(int extent, long search) {
        return searches[extent] == search;
    }

    void setFoundBy(int extent, long search) {
        searches[extent] = search;
    }

    /** Returns the number of extents. */
    public int count() {
        return count;
    }

    /** Returns the pages of all extents. */
    int pages() {
        return pages;
    }

    /** Returns the pages of the idle ones. */
    int idlePages() {
        return idlePages;
    }

    /** Checks the sums. */
    void check() {
        int existing = 0;
        int allPages = 0;
        int unused = 0;
        for (int extent = 0; extent < used; extent++) {
            final boolean isIdle = isIdle(extent);
            existing += numbers[extent] >= 0 ? 1 : 0;
            allPages += size(extent);
            unused += isIdle ? size(extent) : 0;
            ConsistencyCheck.expect((nextIdle(extent) == extent) == isIdle, "idle bit of extent", extent);
            ConsistencyCheck.expect(numbers[extent] >= 0 || mappings[extent] == NONE, "mapping of no extent", extent);
        }
        ConsistencyCheck.expect(count == existing, "extents", count);
        ConsistencyCheck.expect(pages == allPages, "pages", pages);
        ConsistencyCheck.expect(idlePages == unused, "idle pages", idlePages);
    }
}
