package allocator.trace;

import java.util.Arrays;

/**
 * A map from {@code long} to {@code int} without an object per entry: open addressing with linear probing, at most half
 * full. {@link #NONE} cannot be a key or a value. Not safe for use by several threads.
 */
final class LongIntMap {
    /** The key of an empty cell, and the result for a key that is absent. */
    static final int NONE = -1;

    private long[] keys = emptyKeys(1 << 10);
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
                grow();
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
            final int home = home(keys[next]);
            if (((next - home) & mask) >= ((next - hole) & mask)) {
                keys[hole] = keys[next];
                values[hole] = values[next];
                hole = next;
            }
        }
        keys[hole] = NONE;
        size--;
        return value;
    }

    private void grow() {
        final long[] oldKeys = keys;
        final int[] oldValues = values;
        keys = emptyKeys(Math.multiplyExact(2, oldKeys.length));
        values = new int[keys.length];
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != NONE) {
                final int cell = cell(oldKeys[i]);
                keys[cell] = oldKeys[i];
                values[cell] = oldValues[i];
            }
        }
    }

    /** Returns the cell of the key, or the empty cell where it belongs. */
    private int cell(long key) {
        final int mask = keys.length - 1;
        int cell = home(key);
        while (keys[cell] != key && keys[cell] != NONE) {
            cell = (cell + 1) & mask;
        }
        return cell;
    }

    /** Fibonacci hashing: the upper bits of a product with 2^64 / golden ratio. */
    private int home(long key) {
        return (int) ((key * 0x9E3779B97F4A7C15L) >>> (Long.SIZE - Integer.numberOfTrailingZeros(keys.length)));
    }
}
