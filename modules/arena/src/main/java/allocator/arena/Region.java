package allocator.arena;

import java.util.Arrays;

/**
 * One allocation of the upstream allocator, and where its chunks begin.
 *
 * <p>The index has one {@code int} for each block of {@value #BLOCK_UNITS} units, 4 KiB. Where at most two chunks start
 * in a block, it is the first of them; where more do, a {@linkplain BlockTables table} with a slot for each unit, until
 * none starts there any more. So a chunk is found in constant time and every address is told apart exactly, at a
 * thousandth of the memory as long as blocks are not small.
 *
 * <p>The index of the first blocks is one array that grows with them; the others' comes in pages, made when a chunk
 * first starts in them. So a large region costs nothing before it is used, and no growth takes long.
 */
final class Region {
    /** Bytes of Java heap for the object itself. */
    static final long OBJECT_BYTES = 64;

    /** Units for each entry of the index. */
    static final int BLOCK_UNITS = BlockTables.SLOTS;

    private static final int BLOCK_SHIFT = Integer.numberOfTrailingZeros(BLOCK_UNITS);

    /** The most chunks in a block that are told apart by their links. */
    private static final int FEW = 2;

    /** How many of the blocks have their entry in the array that grows: those of 4 GiB. */
    private static final int MAX_HEAD = 1 << 20;

    private static final int LEAST_GROWTH = 16;

    private static final int PAGE_SHIFT = 10;
    private static final int PAGE_BLOCKS = 1 << PAGE_SHIFT;
    private static final int PAGE_MASK = PAGE_BLOCKS - 1;

    final int id;
    final long base;
    final long units;

    /** Whether the arena held nothing when this region came. */
    final boolean isFirst;

    /** Chunks in use. */
    int chunksInUse;

    /** Frees so far: tells whether anything happened here between two looks. */
    long frees;

    /** By block: 0 if no chunk starts there, a handle plus one, or the complement of a table. */
    private int[] head = new int[0];

    /** The blocks from {@link #MAX_HEAD} on. */
    private final int[][] pages;

    Region(int id, long base, long units, boolean isFirst) {
        this.id = id;
        this.base = base;
        this.units = units;
        this.isFirst = isFirst;
        pages = new int[(int) (Math.max(blocks() - MAX_HEAD + PAGE_MASK, 0) >>> PAGE_SHIFT)][];
        ensureEntry(0);
    }

    private static long block(long offset) {
        return offset >>> BLOCK_SHIFT;
    }

    private static int unitInBlock(long offset) {
        return (int) offset & (BLOCK_UNITS - 1);
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

    private long blocks() {
        return block(units - 1) + 1;
    }

    private int entry(long block) {
        return block < head.length ? head[(int) block] : entryBeyond(block);
    }

    private int entryBeyond(long block) {
        final int[] page = block < MAX_HEAD ? null : pages[page(block)];
        return page == null ? 0 : page[(int) block & PAGE_MASK];
    }

    private void setEntry(long block, int entry) {
        if (block < head.length) {
            head[(int) block] = entry;
        } else {
            pages[page(block)][(int) block & PAGE_MASK] = entry;
        }
    }

    private static int page(long block) {
        return (int) ((block - MAX_HEAD) >>> PAGE_SHIFT);
    }

    /**
     * Makes room, so that a chunk can be entered at {@code offset} without allocating; at the end there is none to
     * make.
     */
    void ensureEntry(long offset) {
        final long block = block(offset);
        if (block >= head.length && block < blocks()) {
            grow(block);
        }
    }

    private void grow(long block) {
        if (block < MAX_HEAD) {
            final long length = block + 1 + Math.max(block >> 2, LEAST_GROWTH);
            head = Arrays.copyOf(head, (int) Math.min(length, Math.min(blocks(), MAX_HEAD)));
        } else if (pages[page(block)] == null) {
            pages[page(block)] = new int[PAGE_BLOCKS];
        }
    }

    private static boolean startsIn(Chunks chunks, int chunk, long block) {
        return chunk != Chunks.NONE && block(chunks.offset(chunk)) == block;
    }

    /** Enters a chunk that starts at {@code offset} and whose record is linked. Call {@link #ensureEntry} before. */
    void enter(Chunks chunks, BlockTables tables, int chunk, long offset) {
        final long block = block(offset);
        final int entry = entry(block);
        if (entry < 0) {
            tables.set(~entry, unitInBlock(offset), chunk);
        } else if (entry == 0) {
            setEntry(block, chunk + 1);
        } else {
            final int other = entry - 1;
            enterBeside(chunks, tables, block, chunks.offset(other) < offset ? other : chunk);
        }
    }

    /** Makes the entry of a block anew, in which at least two chunks start. */
    private void enterBeside(Chunks chunks, BlockTables tables, long block, int first) {
        int count = 0;
        for (int chunk = first; startsIn(chunks, chunk, block); chunk = chunks.next(chunk)) {
            count++;
        }
        if (count <= FEW) {
            setEntry(block, first + 1);
            return;
        }
        final int table = tables.create();
        for (int chunk = first; startsIn(chunks, chunk, block); chunk = chunks.next(chunk)) {
            tables.set(table, unitInBlock(chunks.offset(chunk)), chunk);
        }
        setEntry(block, ~table);
    }

    /** Removes a chunk that starts at {@code offset} and whose record is still linked. */
    void remove(Chunks chunks, BlockTables tables, int chunk, long offset) {
        final long block = block(offset);
        final int entry = entry(block);
        final int next = chunks.next(chunk);
        if (entry < 0) {
            tables.set(~entry, unitInBlock(offset), Chunks.NONE);
            if (!startsIn(chunks, next, block) && !startsIn(chunks, chunks.previous(chunk), block)) {
                tables.retire(~entry);
                setEntry(block, 0);
            }
        } else if (entry == chunk + 1) {
            setEntry(block, startsIn(chunks, next, block) ? next + 1 : 0);
        }
    }

    /** Empties the index of a region that is given up, whose chunks are still linked. */
    void clear(Chunks chunks, BlockTables tables) {
        for (int chunk = firstChunk(chunks, tables); chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final int entry = entry(block(chunks.offset(chunk)));
            if (entry < 0) {
                tables.set(~entry, unitInBlock(chunks.offset(chunk)), Chunks.NONE);
                if (!startsIn(chunks, chunks.next(chunk), block(chunks.offset(chunk)))) {
                    tables.retire(~entry);
                }
            }
        }
    }

    /** The chunk that starts at {@code offset}, {@link Chunks#NONE} if none does. */
    int startingAt(Chunks chunks, BlockTables tables, long offset) {
        final int entry = entry(block(offset));
        if (entry < 0) {
            return tables.get(~entry, unitInBlock(offset));
        }
        int chunk = entry - 1;
        if (chunk != Chunks.NONE && chunks.offset(chunk) < offset) {
            chunk = chunks.next(chunk);
        }
        return chunk != Chunks.NONE && chunks.offset(chunk) == offset ? chunk : Chunks.NONE;
    }

    /** The chunk in which {@code offset} lies. In proportion to the length of the chunk: for messages. */
    int containing(Chunks chunks, BlockTables tables, long offset) {
        long at = offset;
        int chunk = startingAt(chunks, tables, at);
        while (chunk == Chunks.NONE) {
            at = entry(block(at)) == 0 ? (block(at) << BLOCK_SHIFT) - 1 : at - 1;
            chunk = startingAt(chunks, tables, at);
        }
        return chunk;
    }

    /** The chunk at the start. */
    int firstChunk(Chunks chunks, BlockTables tables) {
        return startingAt(chunks, tables, 0);
    }

    /** Chunks that the entry of a block names, for the consistency check: of one that leaves some to the links, all. */
    int chunksInBlock(Chunks chunks, BlockTables tables, long block) {
        final int entry = entry(block);
        int count = 0;
        if (entry < 0) {
            for (int unit = 0; unit < BLOCK_UNITS; unit++) {
                count += tables.get(~entry, unit) == Chunks.NONE ? 0 : 1;
            }
        } else {
            for (int chunk = entry - 1; startsIn(chunks, chunk, block) && count < FEW; chunk = chunks.next(chunk)) {
                count++;
            }
        }
        return count;
    }

    /** Blocks that have an entry, for the consistency check. */
    long filledBlocks() {
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

    /** Bytes of Java heap that the region and its index take; the tables are the arena's. */
    long bookkeepingBytes() {
        long bytes = OBJECT_BYTES + HeapSize.ofInts(head.length) + HeapSize.ofReferences(pages.length);
        for (final int[] page : pages) {
            bytes += page == null ? 0 : HeapSize.ofInts(page.length);
        }
        return bytes;
    }
}
