package exam.tlsf;

/** The free blocks in segregated lists: a class for each power of two, divided into eight. */
final class FreeIndex {
    private static final int DIVISIONS = 8;
    private static final int SHIFT = 3;

    private final Block[] heads = new Block[64 * DIVISIONS];
    private final int[] filled = new int[64];
    private long filledRows;

    long bytes;
    long blocks;

    void insert(Block block) {
        final int index = classOf(block.byteSize);
        final Block head = heads[index];
        block.previousFree = null;
        block.nextFree = head;
        if (head != null) {
            head.previousFree = block;
        }
        heads[index] = block;
        filled[index / DIVISIONS] |= 1 << index % DIVISIONS;
        filledRows |= 1L << index / DIVISIONS;
        bytes += block.byteSize;
        blocks++;
    }

    void remove(Block block) {
        final int index = classOf(block.byteSize);
        if (block.previousFree == null) {
            heads[index] = block.nextFree;
        } else {
            block.previousFree.nextFree = block.nextFree;
        }
        if (block.nextFree != null) {
            block.nextFree.previousFree = block.previousFree;
        }
        block.previousFree = null;
        block.nextFree = null;
        if (heads[index] == null) {
            filled[index / DIVISIONS] &= ~(1 << index % DIVISIONS);
            if (filled[index / DIVISIONS] == 0) {
                filledRows &= ~(1L << index / DIVISIONS);
            }
        }
        bytes -= block.byteSize;
        blocks--;
    }

    /** Returns a free block of at least a size, a multiple of the granule; null if there is none. */
    Block find(long byteSize) {
        final int own = classOf(byteSize);
        for (Block block = heads[own]; block != null; block = block.nextFree) {
            if (block.byteSize >= byteSize) {
                return block;
            }
        }
        final int row = (own + 1) / DIVISIONS;
        final int inRow = filled[row] & -1 << (own + 1) % DIVISIONS;
        if (inRow != 0) {
            return heads[row * DIVISIONS + Integer.numberOfTrailingZeros(inRow)];
        }
        final long rows = row == 63 ? 0 : filledRows & -1L << row + 1;
        if (rows == 0) {
            return null;
        }
        final int next = Long.numberOfTrailingZeros(rows);
        return heads[next * DIVISIONS + Integer.numberOfTrailingZeros(filled[next])];
    }

    /** Returns the size of the largest free block, 0 if there is none. */
    long largest() {
        if (filledRows == 0) {
            return 0;
        }
        final int row = 63 - Long.numberOfLeadingZeros(filledRows);
        final int column = 31 - Integer.numberOfLeadingZeros(filled[row]);
        long largest = 0;
        for (Block block = heads[row * DIVISIONS + column]; block != null; block = block.nextFree) {
            largest = Math.max(largest, block.byteSize);
        }
        return largest;
    }

    private static int classOf(long byteSize) {
        final long granules = byteSize / TlsfArena.GRANULE;
        if (granules < DIVISIONS) {
            return (int) granules;
        }
        final int power = 63 - Long.numberOfLeadingZeros(granules);
        return (power - SHIFT + 1) * DIVISIONS + (int) (granules >>> power - SHIFT) % DIVISIONS;
    }
}
