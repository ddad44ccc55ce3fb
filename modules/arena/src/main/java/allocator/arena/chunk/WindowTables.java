package allocator.arena.chunk;

import java.util.Arrays;

/**
 * Tables of {@value #SLOTS} chunk handles each, for the windows of a {@link Region} in which many chunks start. A table
 * is created when a window fills and retired when it empties. All regions of a lane share them.
 */
final class WindowTables {
    private static final int SLOT_SHIFT = 4;

    /** Slots in a table. */
    static final int SLOTS = 1 << SLOT_SHIFT;

    private static final int LEAST_GROWTH = 4;

    /** The most tables that one operation creates: an end is cut off a chunk, and the chunk then divided. */
    private static final int MAX_CREATED = 2;

    private static final int NONE = -1;

    /** Handles plus one, 0 where a slot is empty. The first slot of a retired table links to the one retired before. */
    private int[] slots = new int[0];

    /** Tables ever taken from the array. */
    private int used;

    private int retired = NONE;

    /** Tables in the array that are not in use. */
    private int spare;

    /** Makes room, so that the next {@value #MAX_CREATED} calls of {@link #create} do not allocate. */
    void ensureSpare() {
        if (spare < MAX_CREATED) {
            grow(Math.max(used >> 4, LEAST_GROWTH));
        }
    }

    private void grow(int tables) {
        slots = Arrays.copyOf(slots, slots.length + base(tables));
        spare += tables;
    }

    /** Returns whether the array is much larger than the tables in use. */
    boolean isSparse() {
        return Compaction.isSparse((slots.length >> SLOT_SHIFT) - spare, slots.length >> SLOT_SHIFT);
    }

    /** Returns empty tables, as many as are in use here, and a few more. */
    WindowTables smaller() {
        final WindowTables smaller = new WindowTables();
        smaller.grow((slots.length >> SLOT_SHIFT) - spare + LEAST_GROWTH);
        return smaller;
    }

    /** Takes over the array of another instance, whose tables are all empty. */
    void become(WindowTables smaller) {
        slots = smaller.slots;
        clear();
    }

    /** Returns an empty table. Call {@link #ensureSpare} before. */
    int create() {
        spare--;
        if (retired == NONE) {
            return used++;
        }
        final int table = retired;
        retired = slots[base(table)];
        slots[base(table)] = 0;
        return table;
    }

    /** Retires all tables, whatever is in them. */
    void clear() {
        Arrays.fill(slots, 0);
        used = 0;
        retired = NONE;
        spare = slots.length >> SLOT_SHIFT;
    }

    /** Retires an empty table. */
    void retire(int table) {
        slots[base(table)] = retired;
        retired = table;
        spare++;
    }

    private static int base(int table) {
        return table << SLOT_SHIFT;
    }

    /** Returns the chunk in a slot, {@link Chunks#NONE} if the slot is empty. */
    int get(int table, int slot) {
        return slots[base(table) + slot] - 1;
    }

    /** Sets the chunk of a slot; {@link Chunks#NONE} empties it. */
    void set(int table, int slot, int chunk) {
        slots[base(table) + slot] = chunk + 1;
    }
}
