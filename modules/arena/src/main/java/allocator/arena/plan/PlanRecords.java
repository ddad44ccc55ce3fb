package allocator.arena.plan;

/**
 * What a call needs to know of its block: a record of {@value #WORDS} words, beside that of the next call's block.
 *
 * <pre>
 *   word 0  offset                           word 2  two predecessors
 *   word 1  place, number of predecessors    word 3  two more
 * </pre>
 */
final class PlanRecords {
    static final int WORDS = 4;
    static final int OFFSET = 0;
    static final int PLACE_AND_COUNT = 1;
    static final int PREDECESSORS = 2;

    /** How many predecessors are in a record. */
    static final int IN_RECORD = 4;

    private final PlanTable table;
    private final int noBlock;

    private PlanRecords(PlanTable table, int noBlock) {
        this.table = table;
        this.noBlock = noBlock;
    }

    /**
     * Returns the records of all blocks.
     *
     * @param noBlock stands for a predecessor where there are fewer than a record has
     */
    static long[] of(PlanTable table, Places places, int noBlock) {
        final PlanRecords records = new PlanRecords(table, noBlock);
        final long[] words = new long[Math.multiplyExact(WORDS, table.blocks())];
        for (int block = 0; block < table.blocks(); block++) {
            final int record = block * WORDS;
            words[record + OFFSET] = table.offsets[block];
            words[record + PLACE_AND_COUNT] = pair(places.find(table.offsets[block]), records.predecessors(block));
            words[record + PREDECESSORS] = records.pairOfPredecessors(block, 0);
            words[record + PREDECESSORS + 1] = records.pairOfPredecessors(block, 2);
        }
        return words;
    }

    private int predecessors(int block) {
        return table.predecessorsFrom[block + 1] - table.predecessorsFrom[block];
    }

    private long pairOfPredecessors(int block, int index) {
        return pair(predecessor(block, index + 1), predecessor(block, index));
    }

    private int predecessor(int block, int index) {
        return index < predecessors(block) ? table.predecessors[table.predecessorsFrom[block] + index] : noBlock;
    }

    private static long pair(int high, int low) {
        return (long) high << Integer.SIZE | low;
    }

    /** Returns the first of a pair: the place, or a predecessor. */
    static int high(long pair) {
        return (int) (pair >>> Integer.SIZE);
    }
}
