package allocator.arena.chunk;

import java.util.Arrays;

/**
 * A region: one allocation of the upstream allocator, and the index of the chunks in it by address.
 *
 * <p>The index has one {@code int} for each window of {@value #WINDOW_GRANULES} granules, 4 KiB. Where at most two
 * chunks start in a window, its entry is the first of them. Where more do, it is a {@linkplain WindowTables table} with
 * a slot for each granule, until no chunk starts in the window any more. So a chunk is found in constant time, every
 * address is classified exactly, and the index takes a thousandth of the memory while most blocks are larger than a
 * window.
 *
 * <p>The entries of the first windows are one array that grows with them. The entries of the others are in pages, made
 * when a chunk first starts in them. So an unused part of a large region costs nothing, and no growth takes long.
 *
 * <p>The records of its chunks and the tables are in the {@link ChunkStore}, which the methods get as an argument.
 * Guarded by the lane's lock, except for what is final.
 */
public final class Region {
    /** The largest size of a region in bytes. */
    public static final long MAX_BYTES = Granules.toBytes(Chunks.MAX_REGION_GRANULES);

    /** No chunk. */
    public static final int NO_CHUNK = Chunks.NONE;

    /** Granules for each entry of the index. */
    static final int WINDOW_GRANULES = WindowTables.SLOTS;

    private static final int WINDOW_SHIFT = Integer.numberOfTrailingZeros(WINDOW_GRANULES);

    /** The most chunks in a window that are found by their links. */
    private static final int FEW = 2;

    /** The entry of slab 0, which is greater than that of any chunk: {@link Chunks} has fewer. */
    private static final int SLAB = 1 << 30;

    /** How many of the windows have their entry in the array that grows: those of 4 GiB. */
    private static final int MAX_HEAD = 1 << 20;

    private static final int LEAST_GROWTH = 16;

    private static final int PAGE_SHIFT = 10;
    private static final int PAGE_WINDOWS = 1 << PAGE_SHIFT;
    private static final int PAGE_MASK = PAGE_WINDOWS - 1;

    final int id;

    /** Set once, before the region is attached: the object exists before its memory does. */
    long base;

    final long granules;

    /** Whether there was no other region when this one was added. */
    private final boolean isFirst;

    /** The chunk at the start. A chunk keeps its handle until joined to the one before it, so this one always does. */
    int first = NO_CHUNK;

    /** Chunks in use, slabs included. */
    int chunksInUse;

    /** Frees so far. */
    long frees;

    /** By window: 0 if no chunk starts there, a handle plus one, a table's complement, or a slab from {@link #SLAB}. */
    private int[] head = new int[0];

    /** The windows from {@link #MAX_HEAD} on. */
    private final int[][] pages;

    Region(int id, long granules, boolean isFirst) {
        this.id = id;
        this.granules = granules;
        this.isFirst = isFirst;
        pages = new int[(int) (Math.max(windows() - MAX_HEAD + PAGE_MASK, 0) >>> PAGE_SHIFT)][];
        ensureEntry(0);
    }

    /** Returns the region's id, which is unique among the regions of a lane and reused once the region is detached. */
    public int id() {
        return id;
    }

    /** Sets the address of the first byte. */
    public void setBase(long address) {
        base = address;
    }

    /** Returns the address of the first byte. */
    public long base() {
        return base;
    }

    /** Returns the size in bytes. */
    public long byteSize() {
        return Granules.toBytes(granules);
    }

    /** Returns whether there was no other region when this one was added. */
    public boolean isFirst() {
        return isFirst;
    }

    /** Returns the chunk at its start. */
    public int first() {
        return first;
    }

    /** Returns the number of chunks in use, of which a slab is one. */
    public int chunksInUse() {
        return chunksInUse;
    }

    /** Returns how many times memory of this region was freed, to detect changes between two calls. */
    public long frees() {
        return frees;
    }

    boolean contains(long address) {
        return Long.compareUnsigned(address - base, byteSize()) < 0;
    }

    /** Returns the address of the granule at {@code offset}. */
    long address(long offset) {
        return base + Granules.toBytes(offset);
    }

    private static long window(long offset) {
        return offset >>> WINDOW_SHIFT;
    }

    private static int granuleInWindow(long offset) {
        return (int) offset & (WINDOW_GRANULES - 1);
    }

    private long windows() {
        return window(granules - 1) + 1;
    }

    private int entry(long window) {
        return window < head.length ? head[(int) window] : entryBeyond(window);
    }

    private int entryBeyond(long window) {
        final int[] page = window < MAX_HEAD ? null : pages[page(window)];
        return page == null ? 0 : page[(int) window & PAGE_MASK];
    }

    private void setEntry(long window, int entry) {
        if (window < head.length) {
            head[(int) window] = entry;
        } else {
            pages[page(window)][(int) window & PAGE_MASK] = entry;
        }
    }

    private static int page(long window) {
        return (int) ((window - MAX_HEAD) >>> PAGE_SHIFT);
    }

    /**
     * Makes room, so that {@link #enter} at {@code offset} does not allocate. Does nothing at the end of the region,
     * where no chunk can start.
     */
    void ensureEntry(long offset) {
        final long window = window(offset);
        if (window >= head.length && window < windows()) {
            grow(window);
        }
    }

    private void grow(long window) {
        if (window < MAX_HEAD) {
            final long length = window + 1 + Math.max(window >> 2, LEAST_GROWTH);
            head = Arrays.copyOf(head, (int) Math.min(length, Math.min(windows(), MAX_HEAD)));
        } else if (pages[page(window)] == null) {
            pages[page(window)] = new int[PAGE_WINDOWS];
        }
    }

    /** Makes room for a slab. */
    void ensureEntries(long offset, long granules) {
        for (long at = offset; at < offset + granules; at += WINDOW_GRANULES) {
            ensureEntry(at);
        }
    }

    /** Makes a slab the entry of all its windows. It fills them. Call {@link #ensureEntries} before. */
    void enterSlab(int slab, long offset, long granules) {
        setEntries(offset, granules, SLAB | slab);
    }

    /** Removes a slab. */
    void leaveSlab(long offset, long granules) {
        setEntries(offset, granules, 0);
    }

    private void setEntries(long offset, long granules, int entry) {
        for (long window = window(offset); window < window(offset + granules); window++) {
            setEntry(window, entry);
        }
    }

    /** Returns the slab that contains what is at {@code offset}, a negative number if none does. */
    int slabAt(long offset) {
        final int entry = entry(window(offset));
        return entry < SLAB ? NO_CHUNK : entry - SLAB;
    }

    private static boolean startsIn(ChunkStore store, int chunk, long window) {
        return chunk != Chunks.NONE && window(store.chunks.offset(chunk)) == window;
    }

    /** Enters a chunk that starts at {@code offset} and whose record is linked. Call {@link #ensureEntry} before. */
    void enter(ChunkStore store, int chunk, long offset) {
        final long window = window(offset);
        final int entry = entry(window);
        if (entry < 0) {
            store.tables.set(~entry, granuleInWindow(offset), chunk);
        } else if (entry == 0) {
            setEntry(window, chunk + 1);
        } else {
            final int other = entry - 1;
            enterBeside(store, window, store.chunks.offset(other) < offset ? other : chunk);
        }
    }

    /** Replaces the entry of a window in which at least two chunks start; {@code first} is the first of them. */
    private void enterBeside(ChunkStore store, long window, int first) {
        int count = 0;
        for (int chunk = first; startsIn(store, chunk, window); chunk = store.chunks.next(chunk)) {
            count++;
        }
        if (count <= FEW) {
            setEntry(window, first + 1);
            return;
        }
        final int table = store.tables.create();
        for (int chunk = first; startsIn(store, chunk, window); chunk = store.chunks.next(chunk)) {
            store.tables.set(table, granuleInWindow(store.chunks.offset(chunk)), chunk);
        }
        setEntry(window, ~table);
    }

    /** Removes a chunk that starts at {@code offset} and whose record is still linked. */
    void remove(ChunkStore store, int chunk, long offset) {
        final long window = window(offset);
        final int entry = entry(window);
        final int next = store.chunks.next(chunk);
        if (entry < 0) {
            store.tables.set(~entry, granuleInWindow(offset), Chunks.NONE);
            if (!startsIn(store, next, window) && !startsIn(store, store.chunks.previous(chunk), window)) {
                store.tables.retire(~entry);
                setEntry(window, 0);
            }
        } else if (entry == chunk + 1) {
            setEntry(window, startsIn(store, next, window) ? next + 1 : 0);
        }
    }

    /** Empties the index of a region that is detached and whose chunks are still linked. */
    void clear(ChunkStore store) {
        for (int chunk = first; chunk != Chunks.NONE; chunk = store.chunks.next(chunk)) {
            final long window = window(store.chunks.offset(chunk));
            final int entry = entry(window);
            if (entry < 0) {
                store.tables.set(~entry, granuleInWindow(store.chunks.offset(chunk)), Chunks.NONE);
                if (!startsIn(store, store.chunks.next(chunk), window)) {
                    store.tables.retire(~entry);
                }
            }
        }
    }

    /** Returns the chunk that starts at {@code offset}, {@link Chunks#NONE} if none does. */
    int startingAt(ChunkStore store, long offset) {
        final int entry = entry(window(offset));
        if (entry < 0) {
            return store.tables.get(~entry, granuleInWindow(offset));
        }
        int chunk = entry - 1;
        if (chunk != Chunks.NONE && store.chunks.offset(chunk) < offset) {
            chunk = store.chunks.next(chunk);
        }
        return chunk != Chunks.NONE && store.chunks.offset(chunk) == offset ? chunk : Chunks.NONE;
    }

    /** Returns an empty array for entries of the first windows, with room for chunks up to one at {@code offset}. */
    int[] headUpTo(long offset) {
        final long length = window(offset) + 1 + Math.max(window(offset) >> 2, LEAST_GROWTH);
        return new int[(int) Math.min(length, head.length)];
    }

    /** Replaces the array for the entries of the first windows. */
    void setHead(int[] entries) {
        head = entries;
    }

    /** Gives back the pages without entries. */
    void dropEmptyPages() {
        for (int i = 0; i < pages.length; i++) {
            if (pages[i] != null && filled(pages[i]) == 0) {
                pages[i] = null;
            }
        }
    }

    /** Empties the index, whatever is in it. The tables are not retired. */
    void clear() {
        Arrays.fill(head, 0);
        for (final int[] page : pages) {
            if (page != null) {
                Arrays.fill(page, 0);
            }
        }
    }

    /**
     * Returns the number of chunks that the entry of a window names, for the consistency check. An entry that names the
     * first of two chunks counts as both.
     */
    int chunksInWindow(ChunkStore store, long window) {
        final int entry = entry(window);
        int count = 0;
        if (entry < 0) {
            for (int granule = 0; granule < WINDOW_GRANULES; granule++) {
                count += store.tables.get(~entry, granule) == Chunks.NONE ? 0 : 1;
            }
        } else if (entry >= SLAB) {
            count = 1;
        } else {
            for (int chunk = entry - 1;
                    startsIn(store, chunk, window) && count < FEW;
                    chunk = store.chunks.next(chunk)) {
                count++;
            }
        }
        return count;
    }

    /** Returns the number of windows that have an entry, for the consistency check. */
    long filledWindows() {
        long filled = filled(head);
        for (final int[] page : pages) {
            filled += page == null ? 0 : filled(page);
        }
        return filled;
    }

    private static int filled(int[] entries) {
        int filled = 0;
        for (final int entry : entries) {
            filled += entry == 0 ? 0 : 1;
        }
        return filled;
    }
}
