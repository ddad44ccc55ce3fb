package allocator.arena;

import java.util.Arrays;

/**
 * The records of all chunks, by handle.
 *
 * <pre>
 *           63     62     61..60   59..36    35..0
 *   word 0  free   kept   unused   region    offset in the region, in units
 *           63..32          31..0
 *   word 1  previous        next      neighbours in the region by address, NONE at its ends
 *           63..45          44..0
 *   word 2  owner           in use: bytes requested; free: stamp; kept: the one kept before it
 * </pre>
 *
 * <p>A chunk ends where the next one begins, so its size is not stored. The owner is a slot of {@link StreamSlots}, 0
 * for none; the stamp is the owner's sync id when the memory was freed. Only a free chunk with an owner has
 * <em>clean</em> ends: units at its head and at its tail that the owner never used; see {@link Placement}. They are in
 * a second table that exists once a stream was seen. A <em>kept</em> chunk was freed and not merged, see
 * {@link QuickFit}; its stamp is in the second table.
 *
 * <p>Handles are dense and reused, last retired first. The tables are plain arrays, as every call reads them some
 * thirty times; they grow by a sixteenth.
 */
final class Chunks {
    static final int NONE = -1;

    /** The most units that a region may have. */
    static final long MAX_REGION_UNITS = 1L << 36;

    /** The most regions at one time. */
    static final int MAX_REGIONS = 1 << 24;

    /** The most owners at one time, no owner included. */
    static final int MAX_OWNERS = 1 << 19;

    /** A stamp that stands for itself and everything above: no wait is known to cover it. */
    static final long MAX_STAMP = (1L << 45) - 1;

    private static final int REGION_SHIFT = 36;
    private static final long OFFSET_MASK = (1L << REGION_SHIFT) - 1;
    private static final long FREE = 1L << 63;
    private static final long KEPT = 1L << 62;
    private static final int OWNER_SHIFT = 45;
    private static final long LOW_INT = 0xFFFF_FFFFL;

    private static final int WORDS = 3;
    private static final int LEAST_GROWTH = 64;

    private long[] words = new long[0];

    /** The clean ends of each chunk, head in the upper half. */
    private long[] cleanEnds = new long[0];

    /** The last retired record, threaded through the next links; {@link #NONE} if there is none. */
    private int retired = NONE;

    /** Records that were ever used. */
    private int used;

    /** Records that the tables hold. */
    private int capacity;

    /** Records that hold no chunk. */
    private int spare;

    private boolean tracksCleanEnds;

    /** Makes room, so that the next {@code count} records are made without allocating. */
    void ensureSpare(int count) {
        if (spare < count) {
            grow();
        }
    }

    private void grow() {
        final int larger = capacity + Math.max(capacity >> 4, LEAST_GROWTH);
        final long[] largerCleanEnds = tracksCleanEnds ? Arrays.copyOf(cleanEnds, larger) : cleanEnds;
        words = Arrays.copyOf(words, larger * WORDS);
        cleanEnds = largerCleanEnds;
        spare += larger - capacity;
        capacity = larger;
    }

    /** From here on chunks have clean ends. */
    void trackCleanEnds() {
        if (!tracksCleanEnds) {
            cleanEnds = new long[capacity];
            tracksCleanEnds = true;
        }
    }

    /** A new record of a free chunk without owner or neighbours. Call {@link #ensureSpare} before. */
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

    /** A new record of a free chunk without owner, from {@code offset} to the end of {@code left}. */
    int split(int left, long offset) {
        final int next = next(left);
        final int right = create(region(left), offset, left, next);
        setNext(left, right);
        if (next != NONE) {
            setPrevious(next, right);
        }
        return right;
    }

    /** Gives the record of the chunk after {@code left} back; its memory is that of {@code left} now. */
    void join(int left, int right) {
        final int next = next(right);
        setNext(left, next);
        if (next != NONE) {
            setPrevious(next, left);
        }
        retire(right);
    }

    /** Gives a record back. */
    void retire(int chunk) {
        setNext(chunk, retired);
        retired = chunk;
        spare++;
    }

    /** Chunks that exist. */
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

    /** Units from the start of the region. */
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

    private void setPrevious(int chunk, int previous) {
        setWord(chunk, 1, (word(chunk, 1) & LOW_INT) | ((long) previous << Integer.SIZE));
    }

    int owner(int chunk) {
        return (int) (word(chunk, 2) >>> OWNER_SHIFT);
    }

    /** Bytes that the caller asked for; of a chunk in use. */
    long requested(int chunk) {
        return word(chunk, 2) & MAX_STAMP;
    }

    /** The owner's sync id at the free, {@link #MAX_STAMP} at most; of a free chunk. */
    long stamp(int chunk) {
        return word(chunk, 2) & MAX_STAMP;
    }

    void setInUse(int chunk, int owner, long requested) {
        setWord(chunk, 0, word(chunk, 0) & ~(FREE | KEPT));
        setWord(chunk, 2, ((long) owner << OWNER_SHIFT) | requested);
    }

    /** Makes a chunk free for everybody. */
    void setUntied(int chunk) {
        setWord(chunk, 0, (word(chunk, 0) & ~KEPT) | FREE);
        setWord(chunk, 2, 0);
    }

    /** Makes a chunk an owner's free memory. Ends beyond 2^32 - 1 units are remembered as that. */
    void setOwned(int chunk, int owner, long stamp, long cleanHead, long cleanTail) {
        setWord(chunk, 0, (word(chunk, 0) & ~KEPT) | FREE);
        setWord(chunk, 2, ((long) owner << OWNER_SHIFT) | Math.min(stamp, MAX_STAMP));
        cleanEnds[chunk] = (Math.min(cleanHead, LOW_INT) << Integer.SIZE) | Math.min(cleanTail, LOW_INT);
    }

    /** Whether a chunk was freed and is kept as it is. */
    boolean isKept(int chunk) {
        return (word(chunk, 0) & KEPT) != 0;
    }

    /** Whether a chunk is somebody's. */
    boolean isLive(int chunk) {
        return (word(chunk, 0) & (FREE | KEPT)) == 0;
    }

    /** Of a kept chunk, the one that was kept before it; {@link #NONE} if there is none. */
    int below(int chunk) {
        return (int) word(chunk, 2);
    }

    /** Of a kept chunk, the owner's sync id at the free, {@link #MAX_STAMP} at most. */
    long keptStamp(int chunk) {
        return tracksCleanEnds ? cleanEnds[chunk] : 0;
    }

    void setKept(int chunk, int owner, int below, long stamp) {
        setWord(chunk, 0, word(chunk, 0) | KEPT);
        setWord(chunk, 2, ((long) owner << OWNER_SHIFT) | (below & LOW_INT));
        if (tracksCleanEnds) {
            cleanEnds[chunk] = Math.min(stamp, MAX_STAMP);
        }
    }

    /** Whether a free chunk with an owner has a clean end. */
    boolean hasCleanEnds(int chunk) {
        return cleanEnds[chunk] != 0;
    }

    /** Units at the start of a free chunk with an owner that the owner never used. */
    long cleanHead(int chunk) {
        return cleanEnds[chunk] >>> Integer.SIZE;
    }

    /** Units at the end of a free chunk with an owner that the owner never used. */
    long cleanTail(int chunk) {
        return cleanEnds[chunk] & LOW_INT;
    }

    /** Bytes of Java heap that the tables take. */
    long bookkeepingBytes() {
        return HeapSize.ofLongs(words.length) + HeapSize.ofLongs(cleanEnds.length);
    }
}
