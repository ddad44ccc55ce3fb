package allocator.arena.plan;

/**
 * What a call needs to know of its block: a record of {@value #WORDS} words, beside that of the next call's block.
 *
 * <pre>
 *   word 0  size                        word 2  two predecessors
 *   word 1  place of the offset         word 3  two more
 * </pre>
 *
 * A block of fewer predecessors has one of them several times. For a block without predecessors, and for one of more
 * than four, a record has numbers behind those of the blocks: {@link #none} and {@link #many}.
 */
final class PlanRecords {
    static final int WORDS = 4;
    static final int SIZE = 0;
    static final int PLACE = 1;
    static final int PREDECESSORS = 2;

    /** How many predecessors are in a record. */
    private static final int IN_RECORD = 4;

    private final PlanTable table;

    private PlanRecords(PlanTable table) {
        this.table = table;
    }

    /** Returns the records of all blocks. */
    static long[] of(PlanTable table, Places places) {
        final PlanRecords records = new PlanRecords(table);
        final long[] words = new long[Math.multiplyExact(WORDS, table.blocks())];
        for (int block = 0; block < table.blocks(); block++) {
            final int record = block * WORDS;
            words[record + SIZE] = table.byteSizes[block];
            words[record + PLACE] = places.find(table.offsets[block]);
            words[record + PREDECESSORS] = pair(records.predecessor(block, 1), records.predecessor(block, 0));
            words[record + PREDECESSORS + 1] = pair(records.predecessor(block, 3), records.predecessor(block, 2));
        }
        return words;
    }

    /** Returns the number that stands for no predecessor. */
    static int none(PlanTable table) {
        return table.blocks();
    }

    /** Returns the number that stands for more predecessors than a record has. */
    static int many(PlanTable table) {
        return table.blocks() + 1;
    }

    private int predecessor(int block, int index) {
        final int from = table.predecessorsFrom[block];
        final int count = table.predecessorsFrom[block + 1] - from;
        if (count > IN_RECORD) {
            return many(table);
        }
        return count == 0 ? none(table) : table.predecessors[from + Math.min(index, count - 1)];
    }

    private static long pair(int high, int low) {
        return (long) high << Integer.SIZE | low;
    }

    /** Returns the second of a pair of predecessors; the first is its low half. */
    static int second(long pair) {
        return (int) (pair >>> Integer.SIZE);
    }
}
