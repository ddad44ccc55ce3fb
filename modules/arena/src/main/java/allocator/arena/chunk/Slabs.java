package allocator.arena.chunk;

import java.util.Arrays;

/**
 * The slabs of a lane: chunks in use that are divided into up to {@value #MOST_UNITS} units of one size. Each unit is a
 * block of the slab's owner, or free for its next request of that size.
 *
 * <p>Which slab a chunk is, its unit's size and which units are free are the truth; with the chunks' records,
 * everything else follows from it. To take or free a unit is one store into that. The slabs of an owner and a size that
 * have free units are a list.
 */
final class Slabs {
    /** The largest unit in granules, 64 KiB. */
    static final int MOST_GRANULES = 256;

    /** The most owners that have slabs, so that what stays in them is bounded. */
    static final int MAX_OWNERS = 64;

    /** The most units of a slab. */
    static final int MOST_UNITS = Long.SIZE;

    /** The handle of unit 0 of slab 0. That of a chunk is below, as {@link Chunks} has fewer. */
    static final int FIRST_UNIT = 1 << 30;

    /** The most granules of a slab, 512 KiB. */
    static final int MAX_SLAB_GRANULES = 2048;

    private static final int NONE = Chunks.NONE;
    private static final int UNIT_BITS = Integer.numberOfTrailingZeros(MOST_UNITS);
    private static final int MAX_SLABS = FIRST_UNIT >>> UNIT_BITS;

    /** The granules of a slab unless that is too few units. */
    private static final int SLAB_GRANULES = 256;

    private static final int LEAST_GROWTH = 16;

    /** By the granules of a request, the number of the least unit for it, from 0 on. */
    private static final byte[] CLASSES = new byte[MOST_GRANULES + 1];

    /** The number of sizes that units have. */
    static final int SIZES;

    /** By the size of a unit, what divides an offset in a slab by it. */
    private static final int[] RECIPROCALS = new int[MOST_GRANULES + 1];

    private static final int RECIPROCAL_SHIFT = 20;

    static {
        int sizes = 0;
        for (int granules = 1; granules <= MOST_GRANULES; granules++) {
            CLASSES[granules] = (byte) sizes;
            sizes += granules == unitFor(granules) ? 1 : 0;
        }
        SIZES = sizes;
        Arrays.setAll(RECIPROCALS, granules -> granules == 0 ? 0 : (1 << RECIPROCAL_SHIFT) / granules + 1);
    }

    /*
     * The words of a slab: a bit for each free unit, one for each unit, the address of the first, and its chunk in the
     * upper half with the granules of a unit.
     */
    private static final int WORDS = 4;
    private static final int ALL = 1;
    private static final int ADDRESS = 2;
    private static final int GRANULES = 3;

    /* The links of a slab: the next and previous one in the ring that its list is. */
    private static final int LINKS = 2;
    private static final int NEXT = 0;
    private static final int PREVIOUS = 1;

    private long[] words = new long[0];
    private int[] links = new int[0];

    /** By unit: the bytes by which a live block is smaller. */
    private short[] unused = new short[0];

    /** The first slab plus one of each list. */
    private int[] heads = new int[0];

    /** Slabs ever made in the tables. */
    private int count;

    /** The slab retired last, linked to the one before; {@link Chunks#NONE} if there is none. */
    private int retired = NONE;

    /** Returns the size of the unit for a request, at most {@link #MOST_GRANULES}. */
    static int unitFor(int granules) {
        final int step = granules <= 16 ? 1 : granules <= 64 ? 2 : granules <= 128 ? 4 : 8;
        return (granules + step - 1) & -step;
    }

    /** Returns how many units of a size a slab has. Together they fill whole windows of a {@link Region}. */
    static int unitsOf(int unitGranules) {
        final int least = unitGranules <= 64 ? 16 : 8;
        return Math.clamp(Integer.highestOneBit(SLAB_GRANULES / unitGranules), least, MOST_UNITS);
    }

    /** Returns the list of an owner for a unit's size. */
    static int list(int owner, int unitGranules) {
        return owner * SIZES + CLASSES[unitGranules];
    }

    /** Makes room for one slab of an owner. */
    void ensureSpare(int owner) {
        final int lists = (owner + 1) * SIZES;
        if (heads.length < lists) {
            heads = Arrays.copyOf(heads, lists);
        }
        final int capacity = words.length / WORDS;
        if (retired == NONE && count == capacity) {
            final int larger = capacity + Math.max(capacity >> 3, LEAST_GROWTH);
            final short[] largerUnused = Arrays.copyOf(unused, larger << UNIT_BITS);
            final int[] largerLinks = Arrays.copyOf(links, larger * LINKS);
            words = Arrays.copyOf(words, larger * WORDS);
            links = largerLinks;
            unused = largerUnused;
        }
    }

    /** Returns whether there can be no further slab. */
    boolean isFull() {
        return retired == NONE && count == MAX_SLABS;
    }

    /** Returns the number of slabs. */
    int slabs() {
        int slabs = 0;
        for (int slab = 0; slab < count; slab++) {
            slabs += exists(slab) ? 1 : 0;
        }
        return slabs;
    }

    /** Returns whether there is much more room than slabs. */
    boolean isSparse() {
        return Compaction.isSparse(slabs(), words.length / WORDS);
    }

    /** Gives back all room if there is no slab. */
    void compact() {
        if (slabs() > 0) {
            return;
        }
        words = new long[0];
        links = new int[0];
        unused = new short[0];
        heads = new int[0];
        count = 0;
        retired = NONE;
    }

    /** Returns the slab that {@link #create} makes next. */
    int next() {
        return retired == NONE ? count : retired;
    }

    /** Creates a slab whose units are free. It is in no list. Call {@link #ensureSpare} before. */
    int create(int chunk, int unitGranules, long address) {
        final int slab = next();
        if (slab == count) {
            count++;
        } else {
            retired = links[slab * LINKS + NEXT];
        }
        words[slab * WORDS + GRANULES] = unitGranules;
        words[slab * WORDS] = -1L;
        enter(slab, chunk, address);
        return slab;
    }

    /** Enters the chunk of a slab. */
    void enter(int slab, int chunk, long address) {
        final long all = -1L >>> -unitsOf(unitGranules(slab));
        words[slab * WORDS + GRANULES] = (long) chunk << Integer.SIZE | unitGranules(slab);
        words[slab * WORDS] &= all;
        words[slab * WORDS + ALL] = all;
        words[slab * WORDS + ADDRESS] = address;
    }

    /** Retires a slab that is in no list and has no chunk any more. */
    void retire(int slab) {
        words[slab * WORDS + ALL] = 0;
        links[slab * LINKS + NEXT] = retired;
        retired = slab;
    }

    /** Empties the lists, and forgets which slabs have a chunk. */
    void clear() {
        Arrays.fill(heads, 0);
        for (int slab = 0; slab < count; slab++) {
            words[slab * WORDS + ALL] = 0;
        }
    }

    /** Retires what has no chunk, after {@link #clear}. */
    void retireRest() {
        retired = NONE;
        for (int slab = count - 1; slab >= 0; slab--) {
            if (!exists(slab)) {
                retire(slab);
            }
        }
    }

    /** Returns the number of slabs, retired ones included. */
    int count() {
        return count;
    }

    boolean exists(int slab) {
        return words[slab * WORDS + ALL] != 0;
    }

    int chunk(int slab) {
        return (int) (words[slab * WORDS + GRANULES] >>> Integer.SIZE);
    }

    int unitGranules(int slab) {
        return (int) words[slab * WORDS + GRANULES];
    }

    /** Returns the free units of a slab, a bit for each. */
    long free(int slab) {
        return words[slab * WORDS];
    }

    /** Returns whether no unit of a slab is live. */
    boolean isEmpty(int slab) {
        return words[slab * WORDS] == words[slab * WORDS + ALL];
    }

    /** Returns whether no unit of a slab would be live if a unit were free. */
    boolean isEmptyWithout(int unit) {
        final int at = slab(unit) * WORDS;
        return (words[at] | 1L << unit) == words[at + ALL];
    }

    /** Returns the first slab of a list, {@link Chunks#NONE} if it is empty. */
    int first(int list) {
        return list < heads.length ? heads[list] - 1 : NONE;
    }

    /** Returns whether a slab is the only one of its list. */
    boolean isOnly(int slab) {
        return links[slab * LINKS + NEXT] == slab;
    }

    /** Returns whether the neighbours of a slab on a list link to it: for the consistency check. */
    boolean isLinked(int slab) {
        return links[links[slab * LINKS + NEXT] * LINKS + PREVIOUS] == slab
                && links[links[slab * LINKS + PREVIOUS] * LINKS + NEXT] == slab;
    }

    /** Returns how many slabs are on lists: for the consistency check. */
    int listed() {
        int listed = 0;
        for (final int head : heads) {
            int next = head - 1;
            while (next != NONE && listed <= count) {
                listed++;
                next = links[next * LINKS + NEXT] == head - 1 ? NONE : links[next * LINKS + NEXT];
            }
        }
        return listed;
    }

    /** Puts a slab at the end of a list, so that free units gather in it before it is the first. */
    void append(int slab, int list) {
        final int head = heads[list];
        if (head == 0) {
            heads[list] = slab + 1;
            link(slab, slab);
        } else {
            link(links[(head - 1) * LINKS + PREVIOUS], slab);
            link(slab, head - 1);
        }
    }

    /** Removes a slab from its list. */
    void remove(int slab, int list) {
        final int next = links[slab * LINKS + NEXT];
        if (next == slab) {
            heads[list] = 0;
            return;
        }
        link(links[slab * LINKS + PREVIOUS], next);
        if (heads[list] == slab + 1) {
            heads[list] = next + 1;
        }
    }

    private void link(int slab, int next) {
        links[slab * LINKS + NEXT] = next;
        links[next * LINKS + PREVIOUS] = slab;
    }

    /** Returns a free unit of a slab that has one. */
    int freeUnit(int slab) {
        return unit(slab, Long.numberOfTrailingZeros(words[slab * WORDS]));
    }

    /** Makes a unit live, for a block that is smaller by some bytes, and returns the units that are still free. */
    long setLive(int unit, long unusedBytes) {
        unused[unit - FIRST_UNIT] = (short) unusedBytes;
        return words[slab(unit) * WORDS] &= ~(1L << unit);
    }

    void setFree(int unit) {
        words[slab(unit) * WORDS] |= 1L << unit;
    }

    static int slab(int unit) {
        return (unit - FIRST_UNIT) >>> UNIT_BITS;
    }

    /** Returns the handle of a unit by its place in a slab. */
    static int unit(int slab, int place) {
        return FIRST_UNIT | slab << UNIT_BITS | place;
    }

    boolean isLive(int unit) {
        return (words[slab(unit) * WORDS] & 1L << unit) == 0;
    }

    /** Returns the bytes of the live units of a slab. */
    long inUse(int slab) {
        final int live = unitsOf(unitGranules(slab)) - Long.bitCount(free(slab));
        return Granules.toBytes((long) live * unitGranules(slab));
    }

    /** Returns the bytes that the callers of the live units of a slab requested. */
    long requestedBytes(int slab) {
        long bytes = 0;
        for (int place = 0; place < unitsOf(unitGranules(slab)); place++) {
            final int unit = unit(slab, place);
            bytes += isLive(unit) ? requested(unit) : 0;
        }
        return bytes;
    }

    long address(int unit) {
        final int slab = slab(unit);
        return words[slab * WORDS + ADDRESS] + Granules.toBytes((long) (unit & (MOST_UNITS - 1)) * unitGranules(slab));
    }

    /** Returns the bytes that the caller of a live unit requested. */
    long requested(int unit) {
        return Granules.toBytes(unitGranules(slab(unit))) - unused[unit - FIRST_UNIT];
    }

    /** Returns the live unit of a slab that starts at an address in it, {@link Chunks#NONE} if none does. */
    int liveUnit(int slab, long address) {
        final int offset = (int) (address - words[slab * WORDS + ADDRESS]);
        final int granules = unitGranules(slab);
        final int place = ((offset >>> Granules.SHIFT) * RECIPROCALS[granules]) >>> RECIPROCAL_SHIFT;
        final boolean isStart = (place * granules) << Granules.SHIFT == offset;
        final int unit = unit(slab, place);
        return isStart && isLive(unit) ? unit : NONE;
    }
}
