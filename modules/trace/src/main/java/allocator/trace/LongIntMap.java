package allocator.trace;

import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A map from {@code long} to {@code int} without an object per entry: open addressing with linear probing, at most half
 * full. {@link #NONE} cannot be a key or a value. Not safe for use by several threads.
 *
 * <p>Each map hashes with a random seed of its own, so that no file can hold keys that collide. The table shrinks again
 * when few entries are left. If the Java heap has no room for an entry, the map is unchanged.
 */
final class LongIntMap {
    /** The key of an empty cell, and the result for a key that is absent. */
    static final int NONE = -1;

    private static final int LEAST_CELLS = 1 << 10;

    private final long seed = ThreadLocalRandom.current().nextLong();
    private long[] keys = emptyKeys(LEAST_CELLS);
    private int[] values = new int[keys.length];
    private int size;

    private static long[] emptyKeys(int capacity) {
        final long[] keys = new long[capacity];
        Arrays.fill(keys, NONE);
        return keys;
    }

    int size() {
        return size;
    }

    int get(long key) {
        final int cell = cell(key);
        return keys[cell] == key ? values[cell] : NONE;
    }

    void put(long key, int value) {
        int cell = cell(key);
        if (keys[cell] != key) {
            if (2 * (size + 1) > keys.length) {
                resize(Math.multiplyExact(2, keys.length));
                cell = cell(key);
            }
            keys[cell] = key;
            size++;
        }
        values[cell] = value;
    }

    /** Removes a key; returns its value, or {@link #NONE} if it was absent. */
    int remove(long key) {
        int hole = cell(key);
        if (keys[hole] != key) {
            return NONE;
        }
        final int value = values[hole];
        final int mask = keys.length - 1;
        // Close the gap: an entry may move back to the hole unless its home lies cyclically behind the hole.
        for (int next = (hole + 1) & mask; keys[next] != NONE; next = (next + 1) & mask) {
            final int home = home(keys[next], mask);
            if (((next - home) & mask) >= ((next - hole) & mask)) {
                keys[hole] = keys[next];
                values[hole] = values[next];
                hole = next;
            }
        }
        keys[hole] = NONE;
        size--;
        if (keys.length > LEAST_CELLS && size < keys.length / 16) {
            shrink();
        }
        return value;
    }

    private void shrink() {
        try {
            resize(keys.length / 4);
        } catch (OutOfMemoryError e) {
            // The table stays as large as it is.
        }
    }

    private void resize(int cells) {
        final long[] newKeys = emptyKeys(cells);
        final int[] newValues = new int[cells];
        for (int i = 0; i < keys.length; i++) {
            if (keys[i] != NONE) {
                final int cell = cell(newKeys, keys[i]);
                newKeys[cell] = keys[i];
                newValues[cell] = values[i];
            }
        }
        keys = newKeys;
        values = newValues;
    }

    private int cell(long key) {
        return cell(keys, key);
    }

    /** Returns the cell of the key, or the empty cell where it belongs. */
    private int cell(long[] table, long key) {
        final int mask = table.length - 1;
        int cell = home(key, mask);
        while (table[cell] != key && table[cell] != NONE) {
            cell = (cell + 1) & mask;
        }
        return cell;
    }

    /** The finalizer of MurmurHash3: each bit of the key and the seed changes each bit of the cell half of the time. */
    private int home(long key, int mask) {
        long hash = key ^ seed;
        hash = (hash ^ (hash >>> 33)) * 0xFF51AFD7ED558CCDL;
        hash = (hash ^ (hash >>> 33)) * 0xC4CEB9FE1A85EC53L;
        return (int) (hash ^ (hash >>> 33)) & mask;
    }

    /** Returns the number of cells. */
    int cells() {
        return keys.length;
    }

    /** Returns the most cells that a lookup of a key in the map visits. */
    int mostProbes() {
        final int mask = keys.length - 1;
        int most = 0;
        for (int i = 0; i < keys.length; i++) {
            if (keys[i] != NONE) {
                most = Math.max(most, ((i - home(keys[i], mask)) & mask) + 1);
            }
        }
        return most;
    }
}
