package allocator.arena.compact;

import allocator.arena.chunk.ConsistencyCheck;
import java.util.Arrays;

/**
 * Which extent is mapped where. The range is divided into <em>places</em> of the size of a page, by index. A mapping
 * covers as many places as its extent has pages, and is named by the first of them. The mappings of an extent are a
 * list.
 *
 * <pre>
 *   places        |  0 |  1 |  2 |  3 |  4 |  5 |  6 |
 *   extent plus 1 |  7 |  7 |  7 |  . |  3 |  3 |  . |      bits 62..32 of a place's entry
 *   first place   |  0 |  0 |  0 |  . |  4 |  4 |  . |      bits 31..0
 *   to be ended   |    |    |    |  . |  1 |  1 |  . |      bit 63
 * </pre>
 *
 * <p>Guarded by the arena's lock.
 */
public final class Mappings {
    /** No mapping, and no extent. */
    static final int NONE = -1;

    private static final int LEAST_GROWTH = 16;

    private static final long ENDING = Long.MIN_VALUE;

    /** By place: 0 if nothing is mapped. One table, as each step along a range reads all of an entry. */
    private long[] entries = new long[0];

    /** By mapping: the next one of the same extent. */
    private int[] nextAt = new int[0];

    /** By mapping: what was freed there. */
    final LastFrees frees;

    /** No mapping is at or behind this place. */
    private int end;

    private int mappedPlaces;

    Mappings(FreeingStreams streams) {
        frees = new LastFrees(streams);
    }

    /** Makes room for mappings at places up to one. */
    void ensureRoom(int lastPlace) {
        if (lastPlace >= entries.length) {
            final int length = lastPlace + 1 + Math.max(lastPlace >> 2, LEAST_GROWTH);
            frees.ensureLength(length);
            setLength(length);
        }
    }

    private void setLength(int length) {
        final int[] newNext = Arrays.copyOf(nextAt, length);
        entries = Arrays.copyOf(entries, length);
        nextAt = newNext;
    }

    /** Gives back Java heap if there are mappings in few of the places that there is room for. */
    void compact() {
        final int length = end + LEAST_GROWTH;
        if (length < entries.length / Extents.SPARSE) {
            setLength(length);
            frees.setLength(length); // last: what it has more of is not used
        }
    }

    /** Returns the entry of a place: above 0 if there is a mapping that is not to be ended, 0 if there is none. */
    long entry(int place) {
        return place < entries.length ? entries[place] : 0;
    }

    /** Returns the extent of an entry that is not 0. */
    static int extentOf(long entry) {
        return ((int) (entry >>> Integer.SIZE) & Integer.MAX_VALUE) - 1;
    }

    /** Returns the first place of the mapping of an entry that is not 0. */
    static int firstOf(long entry) {
        return (int) entry;
    }

    /** Returns the extent at a place, {@link #NONE} if nothing is mapped there. */
    public int extent(int place) {
        return extentOf(entry(place));
    }

    /** Returns the first place of the mapping at a place. */
    int first(int place) {
        return firstOf(entries[place]);
    }

    /** Returns whether a place is the first one of a mapping. */
    boolean isFirst(int place) {
        return entries[place] != 0 && first(place) == place;
    }

    /** Returns whether the mapping at a place is to be ended. */
    boolean isEnding(int place) {
        return entries[place] < 0;
    }

    /** Notes that a mapping is to be ended. */
    void setEnding(int mapping, int size) {
        for (int place = mapping; place < mapping + size; place++) {
            entries[place] |= ENDING;
        }
    }

    /**
     * Adds a mapping.
     *
     * @param next the extent's other mappings
     */
    void add(int mapping, int extent, int size, int next) {
        for (int place = mapping; place < mapping + size; place++) {
            entries[place] = ((long) (extent + 1) << Integer.SIZE) | mapping;
        }
        nextAt[mapping] = next;
        frees.clear(mapping);
        end = Math.max(end, mapping + size);
        mappedPlaces += size;
    }

    /**
     * Removes a mapping. Returns the extent's other mappings.
     *
     * @param list the extent's mappings
     */
    int remove(int mapping, int size, int list) {
        for (int place = mapping; place < mapping + size; place++) {
            entries[place] = 0;
        }
        mappedPlaces -= size;
        if (list == mapping) {
            return nextAt[mapping];
        }
        int before = list;
        while (nextAt[before] != mapping) {
            before = nextAt[before];
        }
        nextAt[before] = nextAt[mapping];
        return list;
    }

    /** Returns the first mapping that covers one of several places, {@link #NONE} if there is none. */
    public int within(int from, int size) {
        for (int place = from; place < from + size; place++) {
            if (entries[place] != 0) {
                return first(place);
            }
        }
        return NONE;
    }

    /** Returns the next mapping of the same extent, {@link #NONE} behind the last. */
    int next(int mapping) {
        return nextAt[mapping];
    }

    /** Returns the first place from which on nothing is mapped. */
    int end() {
        while (end > 0 && entries[end - 1] == 0) {
            end--;
        }
        return end;
    }

    /** Returns at how many places an extent is mapped. */
    public int mappedPlaces() {
        return mappedPlaces;
    }

    /** Checks that the mappings are those in the lists of the extents. */
    void check(Extents extents) {
        int listed = 0;
        for (int extent = 0; extent < extents.capacity(); extent++) {
            int left = extents.mappingCount(extent);
            for (int mapping = extents.mappings(extent); mapping != NONE; mapping = nextAt[mapping]) {
                left--;
                listed += extents.size(extent);
                for (int place = mapping; place < mapping + extents.size(extent); place++) {
                    ConsistencyCheck.expect(
                            extent(place) == extent && first(place) == mapping && isEnding(place) == isEnding(mapping),
                            "mapping of an extent at",
                            place);
                }
            }
            ConsistencyCheck.expect(left == 0, "number of mappings of extent", extent);
        }
        int found = 0;
        for (int place = 0; place < entries.length; place++) {
            found += entries[place] == 0 ? 0 : 1;
            ConsistencyCheck.expect(entries[place] == 0 || place < end, "a mapping behind the end", place);
        }
        ConsistencyCheck.expect(found == listed, "places of no listed mapping", found - listed);
        ConsistencyCheck.expect(mappedPlaces == found, "mapped places", mappedPlaces);
    }
}
