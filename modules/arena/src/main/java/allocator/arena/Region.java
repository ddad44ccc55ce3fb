package allocator.arena;

/**
 * One allocation of the upstream allocator, and where its chunks begin.
 *
 * <p>The index has one slot for each {@value #BLOCK_UNITS} units of the region: the first chunk that starts there. From
 * it the chunks' own links lead to any other in at most {@value #BLOCK_UNITS} - 1 steps. So a chunk is found in constant
 * time and every address is told apart exactly, at one {@code int} for 4 KiB. The slots come in pages, made when a chunk
 * first starts in them: a large region costs nothing before it is used.
 */
final class Region {
    /** Bytes of Java heap for the object itself. */
    static final long OBJECT_BYTES = 64;

    private static final int BLOCK_SHIFT = 4;

    /** Units for each slot of the index. */
    static final int BLOCK_UNITS = 1 << BLOCK_SHIFT;

    private static final int PAGE_SHIFT = 10;
    private static final int PAGE_SLOTS = 1 << PAGE_SHIFT;
    private static final int PAGE_MASK = PAGE_SLOTS - 1;

    final int id;
    final long base;
    final long units;

    /** Whether the arena held nothing when this region came. */
    final boolean isFirst;

    /** Chunks in use. */
    int chunksInUse;

    /** Frees so far: tells whether anything happened here between two looks. */
    long frees;

    /** The slots: handles shifted up by one, so that 0 is empty. */
    private final int[][] pages;

    Region(int id, long base, long units, boolean isFirst) {
        this.id = id;
        this.base = base;
        this.units = units;
        this.isFirst = isFirst;
        pages = new int[(int) (slot(units - 1) >>> PAGE_SHIFT) + 1][];
    }

    private static long slot(long offset) {
        return offset >>> BLOCK_SHIFT;
    }

    private boolean shareSlot(long offset, long other) {
        return slot(offset) == slot(other);
    }

    long address(long offset) {
        return base + Units.toBytes(offset);
    }

    long byteSize() {
        return Units.toBytes(units);
    }

    boolean contains(long address) {
        return Long.compareUnsigned(address - base, byteSize()) < 0;
    }

    /** The first chunk that starts in the block of {@code offset}. */
    private int firstInBlock(long offset) {
        final long slot = slot(offset);
        final int[] page = pages[(int) (slot >>> PAGE_SHIFT)];
        return page == null ? Chunks.NONE : page[(int) slot & PAGE_MASK] - 1;
    }

    private void setFirstInBlock(long offset, int chunk) {
        final long slot = slot(offset);
        final int pageIndex = (int) (slot >>> PAGE_SHIFT);
        int[] page = pages[pageIndex];
        if (page == null) {
            final long slotsLeft = slot(units - 1) + 1 - ((long) pageIndex << PAGE_SHIFT);
            page = new int[(int) Math.min(PAGE_SLOTS, slotsLeft)];
            pages[pageIndex] = page;
        }
        page[(int) slot & PAGE_MASK] = chunk + 1;
    }

    /** Enters a chunk, whose record is linked already. */
    void enter(Chunks chunks, int chunk) {
        final long offset = chunks.offset(chunk);
        final int previous = chunks.previous(chunk);
        if (previous == Chunks.NONE || !shareSlot(chunks.offset(previous), offset)) {
            setFirstInBlock(offset, chunk);
        }
    }

    /** Removes a chunk, whose record is still linked. */
    void remove(Chunks chunks, int chunk) {
        final long offset = chunks.offset(chunk);
        final int previous = chunks.previous(chunk);
        if (previous == Chunks.NONE || !shareSlot(chunks.offset(previous), offset)) {
            final int next = chunks.next(chunk);
            final boolean nextTakesOver = next != Chunks.NONE && shareSlot(chunks.offset(next), offset);
            setFirstInBlock(offset, nextTakesOver ? next : Chunks.NONE);
        }
    }

    /** The chunk that starts at {@code offset}, {@link Chunks#NONE} if none does. */
    int startingAt(Chunks chunks, long offset) {
        int chunk = firstInBlock(offset);
        while (chunk != Chunks.NONE) {
            final long start = chunks.offset(chunk);
            if (start >= offset) {
                return start == offset ? chunk : Chunks.NONE;
            }
            chunk = chunks.next(chunk);
        }
        return Chunks.NONE;
    }

    /** The chunk in which {@code offset} lies. In proportion to the length of the chunk: for messages. */
    int containing(Chunks chunks, long offset) {
        long at = offset;
        int chunk = firstInBlock(at);
        while (chunk == Chunks.NONE || chunks.offset(chunk) > offset) {
            at = pages[(int) (slot(at) >>> PAGE_SHIFT)] == null
                    ? at >>> (PAGE_SHIFT + BLOCK_SHIFT) << (PAGE_SHIFT + BLOCK_SHIFT)
                    : at;
            at -= BLOCK_UNITS;
            chunk = firstInBlock(at);
        }
        for (int next = chunks.next(chunk);
                next != Chunks.NONE && chunks.offset(next) <= offset;
                next = chunks.next(chunk)) {
            chunk = next;
        }
        return chunk;
    }

    /** The chunk at the start. */
    int firstChunk() {
        return firstInBlock(0);
    }

    /** Slots that name a chunk, for the consistency check. */
    long filledSlots() {
        long filled = 0;
        for (final int[] page : pages) {
            if (page != null) {
                for (final int chunk : page) {
                    filled += chunk == 0 ? 0 : 1;
                }
            }
        }
        return filled;
    }

    /** Bytes of Java heap that the region and its index take. */
    long bookkeepingBytes() {
        long bytes = OBJECT_BYTES + HeapSize.ofReferences(pages.length);
        for (final int[] page : pages) {
            bytes += page == null ? 0 : HeapSize.ofInts(page.length);
        }
        return bytes;
    }
}
