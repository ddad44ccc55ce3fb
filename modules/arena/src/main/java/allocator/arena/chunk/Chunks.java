package allocator.arena.chunk;

import java.util.Arrays;
import java.util.BitSet;

/**
 * The records of all chunks, by handle.
 *
 * <pre>
 *           63     62      61..60   59..36    35..0
 *   word 0  free   slab    unused   region    offset in the region, in granules
 *           63..32          31..0
 *   word 1  previous        next      neighbours in the region by address, NONE at its ends
 *           63..45          44..0
 *   word 2  owner           in use: bytes requested; free: stamp; slab: its number in {@link Slabs}
 * </pre>
 *
 * <p>A chunk ends where the next one begins, so its size is not stored. The owner is a slot of {@link StreamSlots}, 0
 * for none. The stamp is the owner's sync id when the memory was freed. A free chunk with an owner has an
 * <em>untouched</em> head and tail: granules at its ends that the owner never used, possibly none; see {@link BestFit}.
 * They are in a second table, which exists once a stream has been seen.
 *
 * <p>The first two words and the owner of each chunk are the truth about a region: everything else in a lane, the
 * indexes and the sums, follows from them, and {@link Repair} rebuilds it from them. So each change of them is one
 * step, whose stores no call divides: a call fails where the stack ends, a store does not.
 *
 * <p>Handles are dense and reused, last retired first. The tables are plain arrays, as every call reads them some
 * thirty times. They grow by a sixteenth.
 */
// One class, since its columns are one table, which grows and is renumbered as a whole.
final class Chunks {
    static final int NONE = -1;

    /** The most granules in a region. */
    static final long MAX_REGION_GRANULES = 1L << 36;

    /** The most regions at one time. */
    static final int MAX_REGIONS = 1 << 24;

    /** The most owners at one time, no owner included. */
    static final int MAX_OWNERS = 1 << 19;

    /** The greatest stamp. It stands for itself and everything above, so that no wait covers it. */
    static final long MAX_STAMP = (1L << 45) - 1;

    private static final int REGION_SHIFT = 36;
    private static final long OFFSET_MASK = (1L << REGION_SHIFT) - 1;
    private static final long FREE = 1L << 63;
    private static final long SLAB = 1L << 62;
    private static final int OWNER_SHIFT = 45;
    private static final long LOW_INT = 0xFFFF_FFFFL;

    private static final int WORDS = 3;
    private static final int LEAST_GROWTH = 64;

    private long[] words = new long[0];

    /** The granules of each chunk's untouched head, in the upper half, and tail. */
    private long[] untouchedEnds = new long[0];

    /** The last retired record, threaded through the next links; {@link #NONE} if there is none. */
    private int retired = NONE;

    /** Records ever taken from the tables. */
    private int used;

    /** Records that the tables hold. */
    private int capacity;

    /** Records without a chunk. */
    private int spare;

    private boolean tracksUntouchedEnds;

    /** Makes room, so that the next {@code count} records are created without allocating. */
    void ensureSpare(int count) {
        if (spare < count) {
            setCapacity(capacity + Math.max(capacity >> 4, LEAST_GROWTH));
        }
    }

    private void setCapacity(int larger) {
        final long[] largerUntouchedEnds = tracksUntouchedEnds ? Arrays.copyOf(untouchedEnds, larger) : untouchedEnds;
        words = Arrays.copyOf(words, larger * WORDS);
        untouchedEnds = largerUntouchedEnds;
        spare += larger - capacity;
        capacity = larger;
    }

    /** Starts to track untouched heads and tails; further calls do nothing. */
    void trackUntouchedEnds() {
        if (!tracksUntouchedEnds) {
            untouchedEnds = new long[capacity];
            tracksUntouchedEnds = true;
        }
    }

    /** Creates a free chunk without owner or neighbours. Call {@link #ensureSpare} before. */
    int create(int region, long offset) {
        return create(region, offset, NONE, NONE);
    }

    private int create(int region, long offset, int previous, int next) {
        spare--;
        final int chunk;
        if (retired == NONE) {
            chunk = used++;
        } else {
            chunk = retired;
            retired = next(chunk);
        }
        final int at = chunk * WORDS;
        words[at] = FREE | ((long) region << REGION_SHIFT) | offset;
        words[at + 1] = ((long) previous << Integer.SIZE) | (next & LOW_INT);
        words[at + 2] = 0;
        return chunk;
    }

    /**
     * Takes a free chunk up to {@code offset} into use, and returns the rest of it, which becomes a free chunk.
     *
     * @param chunk the chunk
     * @param offset where the rest begins
     * @param ownedRest what the rest is if it has an owner, from {@link #ownedWord}; 0 if it has none
     * @param restEnds its untouched ends, from {@link #ends}
     * @param owner the owner of what is in use
     * @param requested the bytes that the caller requested
     */
    int takeFront(int chunk, long offset, long ownedRest, long restEnds, int owner, long requested) {
        final int next = next(chunk);
        final int rest = create(region(chunk), offset, chunk, next);
        if (ownedRest != 0) {
            untouchedEnds[rest] = restEnds;
        }
        final long[] table = words;
        final int at = chunk * WORDS;
        table[rest * WORDS + 2] = ownedRest;
        table[at] &= ~FREE;
        table[at + 1] = (table[at + 1] & ~LOW_INT) | rest;
        table[at + 2] = ((long) owner << OWNER_SHIFT) | requested;
        if (next != NONE) {
            table[next * WORDS + 1] = (table[next * WORDS + 1] & LOW_INT) | ((long) rest << Integer.SIZE);
        }
        return rest;
    }

    /**
     * Splits a free chunk at {@code offset}, and returns the right part.
     *
     * @param left the chunk, of which the left part keeps the record
     * @param offset where the right part begins
     * @param leftOwned what the left part is if it has an owner, from {@link #ownedWord}; 0 if it has none
     * @param leftEnds its untouched ends, from {@link #ends}
     * @param rightOwned the same of the right part
     * @param rightEnds the same of the right part
     */
    int split(int left, long offset, long leftOwned, long leftEnds, long rightOwned, long rightEnds) {
        final int next = next(left);
        final int right = create(region(left), offset, left, next);
        if (leftOwned != 0) {
            untouchedEnds[left] = leftEnds;
        }
        if (rightOwned != 0) {
            untouchedEnds[right] = rightEnds;
        }
        final long[] table = words;
        final int at = left * WORDS;
        table[right * WORDS + 2] = rightOwned;
        table[at + 1] = (table[at + 1] & ~LOW_INT) | right;
        table[at + 2] = leftOwned;
        if (next != NONE) {
            table[next * WORDS + 1] = (table[next * WORDS + 1] & LOW_INT) | ((long) right << Integer.SIZE);
        }
        return right;
    }

    /** Appends the memory of {@code right} to {@code left} and retires its record; both are free without owner. */
    void join(int left, int right) {
        join(left, right, 0, 0);
    }

    /**
     * Appends the memory of {@code right} to {@code left} and retires its record.
     *
     * @param left a free chunk
     * @param right the free chunk after it
     * @param owned what both are then if they have an owner, from {@link #ownedWord}; 0 if they have none
     * @param ends their untouched ends then, from {@link #ends}
     */
    void join(int left, int right, long owned, long ends) {
        final long[] table = words;
        final int at = left * WORDS;
        final int next = (int) table[right * WORDS + 1];
        table[at + 1] = (table[at + 1] & ~LOW_INT) | (next & LOW_INT);
        table[at + 2] = owned;
        if (owned != 0) {
            untouchedEnds[left] = ends;
        }
        if (next != NONE) {
            table[next * WORDS + 1] = (table[next * WORDS + 1] & LOW_INT) | ((long) left << Integer.SIZE);
        }
        retire(right);
    }

    /** Retires a record. */
    void retire(int chunk) {
        setNext(chunk, retired);
        retired = chunk;
        spare++;
    }

    /** Returns whether the tables are much larger than what they hold. */
    boolean isSparse() {
        return Compaction.isSparse(count(), capacity);
    }

    /** Returns smaller tables, to be filled with these records in another order. */
    Chunks smaller() {
        final Chunks smaller = new Chunks();
        smaller.tracksUntouchedEnds = tracksUntouchedEnds;
        smaller.setCapacity(count() + Math.max(count() >> 3, LEAST_GROWTH));
        return smaller;
    }

    /** Adds a copy of a chunk's record, with a handle of its own. Those of a region are added by address. */
    void addCopy(Chunks from, int chunk, int owner) {
        final int at = used * WORDS;
        final int previous = from.previous(chunk) == NONE ? NONE : used - 1;
        final int next = from.next(chunk) == NONE ? NONE : used + 1;
        words[at] = from.word(chunk, 0);
        words[at + 1] = ((long) previous << Integer.SIZE) | (next & LOW_INT);
        words[at + 2] = ((long) owner << OWNER_SHIFT) | (from.word(chunk, 2) & MAX_STAMP);
        if (tracksUntouchedEnds) {
            untouchedEnds[used] = from.untouchedEnds[chunk];
        }
        used++;
        spare--;
    }

    /** Takes over smaller tables with the same chunks, in a few stores. */
    void become(Chunks smaller) {
        words = smaller.words;
        untouchedEnds = smaller.untouchedEnds;
        capacity = smaller.capacity;
        used = smaller.used;
        spare = smaller.spare;
        retired = NONE;
    }

    /** Returns the number of chunks. */
    int count() {
        return capacity - spare;
    }

    private long word(int chunk, int word) {
        return words[chunk * WORDS + word];
    }

    private void setWord(int chunk, int word, long value) {
        words[chunk * WORDS + word] = value;
    }

    boolean isFree(int chunk) {
        return word(chunk, 0) < 0;
    }

    int region(int chunk) {
        return (int) (word(chunk, 0) >>> REGION_SHIFT) & (MAX_REGIONS - 1);
    }

    /** Returns the start of a chunk in granules from the start of its region. */
    long offset(int chunk) {
        return word(chunk, 0) & OFFSET_MASK;
    }

    int next(int chunk) {
        return (int) word(chunk, 1);
    }

    int previous(int chunk) {
        return (int) (word(chunk, 1) >>> Integer.SIZE);
    }

    private void setNext(int chunk, int next) {
        setWord(chunk, 1, (word(chunk, 1) & ~LOW_INT) | (next & LOW_INT));
    }

    void setPrevious(int chunk, int previous) {
        setWord(chunk, 1, (word(chunk, 1) & LOW_INT) | ((long) previous << Integer.SIZE));
    }

    int owner(int chunk) {
        return (int) (word(chunk, 2) >>> OWNER_SHIFT);
    }

    /** Returns the bytes that the caller of a live chunk requested. */
    long requested(int chunk) {
        return word(chunk, 2) & MAX_STAMP;
    }

    /** Returns the stamp of a free chunk: the owner's sync id when it was freed, {@link #MAX_STAMP} at most. */
    long stamp(int chunk) {
        return word(chunk, 2) & MAX_STAMP;
    }

    /** Returns the third word of a free chunk with an owner. */
    static long ownedWord(int owner, long stamp) {
        return ((long) owner << OWNER_SHIFT) | Math.min(stamp, MAX_STAMP);
    }

    /** Returns untouched ends as the table has them. Those above 2^32 - 1 granules are stored as that. */
    static long ends(long untouchedHead, long untouchedTail) {
        return (Math.min(untouchedHead, LOW_INT) << Integer.SIZE) | Math.min(untouchedTail, LOW_INT);
    }

    void setInUse(int chunk, int owner, long requested) {
        final long[] table = words;
        final int at = chunk * WORDS;
        table[at] &= ~FREE;
        table[at + 2] = ((long) owner << OWNER_SHIFT) | requested;
    }

    /** Makes a chunk free, without owner. */
    void setUnbound(int chunk) {
        final long[] table = words;
        final int at = chunk * WORDS;
        table[at] |= FREE;
        table[at + 2] = 0;
    }

    /** Makes a chunk free memory of an owner, which has used all of it. */
    void setOwned(int chunk, int owner, long stamp) {
        final long word = ownedWord(owner, stamp);
        final long[] table = words;
        final int at = chunk * WORDS;
        untouchedEnds[chunk] = 0;
        table[at] |= FREE;
        table[at + 2] = word;
    }

    /** Returns whether a chunk is a slab. */
    boolean isSlab(int chunk) {
        return (word(chunk, 0) & SLAB) != 0;
    }

    /** Returns the number of a slab. */
    int slab(int chunk) {
        return (int) requested(chunk);
    }

    /** Makes a chunk in use a slab, whose number was given as the bytes requested. */
    void setSlab(int chunk) {
        setWord(chunk, 0, word(chunk, 0) | SLAB);
    }

    /** Returns whether a chunk is a live block. */
    boolean isLive(int chunk) {
        return (word(chunk, 0) & (FREE | SLAB)) == 0;
    }

    /**
     * Makes the units of a slab chunks; those that are free and side by side are one. Call {@link #ensureSpare} before.
     *
     * @param chunk the chunk of the slab, whose record the first of them has
     * @param slabs knows the units
     * @param owned what a free one is if it has an owner, from {@link #ownedWord}; 0 if it has none
     */
    void divide(int chunk, Slabs slabs, long owned) {
        final int slab = slab(chunk);
        final int granules = slabs.unitGranules(slab);
        final long inUse = (long) owner(chunk) << OWNER_SHIFT;
        final int behind = next(chunk);
        int last = chunk;
        int next = behind;
        int end = Slabs.unitsOf(granules);
        while (true) {
            final int unit = Slabs.unit(slab, end - 1);
            final boolean isFree = !slabs.isLive(unit);
            end -= isFree ? Long.numberOfLeadingZeros(~(slabs.free(slab) << -end)) : 1;
            final int part =
                    end == 0 ? chunk : create(region(chunk), offset(chunk) + (long) end * granules, chunk, next);
            if (isFree && owned != 0) {
                untouchedEnds[part] = 0;
            }
            final long word = isFree ? owned : inUse | slabs.requested(unit);
            final long[] table = words;
            final int at = part * WORDS;
            if (next == behind) {
                last = part;
            } else {
                setPrevious(next, part);
            }
            if (end == 0) {
                table[at] = (table[at] & ~SLAB) | (isFree ? FREE : 0);
                table[at + 1] = (table[at + 1] & ~LOW_INT) | (next & LOW_INT);
                table[at + 2] = word;
                break;
            }
            table[at] = (table[at] & ~FREE) | (isFree ? FREE : 0);
            table[at + 2] = word;
            next = part;
        }
        if (behind != NONE) {
            setPrevious(behind, last);
        }
    }

    /**
     * Retires every record that is not marked, and no other.
     *
     * @param marked a bit for each chunk that exists
     */
    void retireUnmarked(BitSet marked) {
        retired = NONE;
        spare = capacity - used;
        for (int chunk = used - 1; chunk >= 0; chunk--) {
            if (!marked.get(chunk)) {
                retire(chunk);
            }
        }
    }

    /** Returns whether a free chunk with an owner has an untouched head or tail. */
    boolean hasUntouchedEnds(int chunk) {
        return untouchedEnds[chunk] != 0;
    }

    /** Returns the granules at the start of a free chunk that its owner never used. */
    long untouchedHead(int chunk) {
        return untouchedEnds[chunk] >>> Integer.SIZE;
    }

    /** Returns the granules at the end of a free chunk that its owner never used. */
    long untouchedTail(int chunk) {
        return untouchedEnds[chunk] & LOW_INT;
    }
}
