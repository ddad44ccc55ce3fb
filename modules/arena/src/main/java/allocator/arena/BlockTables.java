package allocator.arena;

import java.util.Arrays;

/**
 * Tables of {@value #SLOTS} chunk handles each, for the blocks of a {@link Region} in which many chunks start. Tables
 * are made and retired as blocks fill and empty; all regions of an arena share them.
 */
final class BlockTables {
    private static final int SLOT_SHIFT = 4;

    /** Slots in a table. */
    static final int SLOTS = 1 << SLOT_SHIFT;

    private static final int LEAST_GROWTH = 4;

    private static final int NONE = -1;

    /**
     * Handles shifted up by one, so that 0 is empty; a retired table has the one retired before it in its first slot.
     */
    private int[] slots = new int[0];

    /** Tables that were ever used. */
    private int used;

    private int retired = NONE;

    /** Makes room, so that the next {@link #create} does not allocate. */
    void ensureSpare() {
        if (retired == NONE && base(used) == slots.length) {
            slots = Arrays.copyOf(slots, base(used + Math.max(used >> 4, LEAST_GROWTH)));
        }
    }

    /** An empty table. Call {@link #ensureSpare} before. */
    int create() {
        if (retired == NONE) {
            return used++;
        }
        final int table = retired;
        retired = slots[base(table)];
        slots[base(table)] = 0;
        return table;
    }

    /** Gives an empty table back. */
    void retire(int table) {
        slots[base(table)] = retired;
        retired = table;
    }

    private static int base(int table) {
        return table << SLOT_SHIFT;
    }

    /** The chunk in a slot, {@link Chunks#NONE} if there is none. */
    int get(int table, int slot) {
        return slots[base(table) + slot] - 1;
    }

    /** Puts a chunk into a slot, {@link Chunks#NONE} to empty it. */
    void set(int table, int slot, int chunk) {
        slots[base(table) + slot] = chunk + 1;
    }

    /** Bytes of Java heap that the tables take. */
    long bookkeepingBytes() {
        return HeapSize.ofInts(slots.length);
    }
}
