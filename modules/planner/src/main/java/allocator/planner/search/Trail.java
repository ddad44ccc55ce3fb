package allocator.planner.search;

import java.util.Arrays;

/** The changes of the search's tables, so that they can be undone in reverse. */
final class Trail {
    private static final int TABLES = 5;

    private final long[][] tables;

    /** For each change the index, times {@link #TABLES}, plus the table. */
    private int[] places = new int[1 << 12];

    private long[] values = new long[1 << 12];
    private int count;

    Trail(long[] least, long[] support, long[] floor, long[] slack, long[] first) {
        tables = new long[][] {least, support, floor, slack, first};
    }

    /** Returns where to undo to. */
    int mark() {
        return count;
    }

    void setLeast(int block, long value) {
        set(0, block, value);
    }

    void setSupport(int block, long value) {
        set(1, block, value);
    }

    void setFloor(int section, long value) {
        set(2, section, value);
    }

    void setSlack(int section, long value) {
        set(3, section, value);
    }

    void setFirst(int section, int block) {
        set(4, section, block);
    }

    private void set(int table, int index, long value) {
        final long old = tables[table][index];
        if (old == value) {
            return;
        }
        if (count == places.length) {
            places = Arrays.copyOf(places, 2 * count);
            values = Arrays.copyOf(values, 2 * count);
        }
        places[count] = index * TABLES + table;
        values[count++] = old;
        tables[table][index] = value;
    }

    /** Undoes all changes since a mark. */
    void undo(int mark) {
        while (count > mark) {
            count--;
            final int place = places[count];
            tables[place % TABLES][place / TABLES] = values[count];
        }
    }
}
