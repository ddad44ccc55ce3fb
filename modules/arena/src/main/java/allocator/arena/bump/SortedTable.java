package allocator.arena.bump;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A table in ascending order of a number. A look is a binary search; a change moves the entries behind. Where the stack
 * ends in a change, the order may be broken, but no entry is lost or there twice, and a place may have none.
 *
 * <p>Not safe for use by several threads.
 *
 * @param <T> type of the entries
 */
final class SortedTable<T> {
    private long[] keys = new long[8];
    private @Nullable Object[] entries = new @Nullable Object[8];
    private int count;

    int count() {
        return count;
    }

    /** Returns an entry by its place in the order; {@code null} only where a change was ended halfway. */
    @SuppressWarnings("unchecked")
    T get(int index) {
        return (T) entries[index];
    }

    /** Returns whether there is no room for an entry more. */
    boolean isFull() {
        return count == keys.length;
    }

    /** Makes room for more entries, no more than there are, or one. If the Java heap has none, nothing changes. */
    void ensureRoom(int more) {
        if (keys.length - count < more) {
            final long[] newKeys = Arrays.copyOf(keys, 2 * keys.length);
            entries = Arrays.copyOf(entries, 2 * keys.length);
            keys = newKeys;
        }
    }

    /** Adds an entry, for which there is room. */
    void add(long key, T entry) {
        final int index = floor(key) + 1;
        final int moved = count - index;
        entries[count] = entry;
        count++;
        System.arraycopy(entries, index, entries, index + 1, moved);
        entries[index] = entry;
        System.arraycopy(keys, index, keys, index + 1, moved);
        keys[index] = key;
    }

    /** Removes the entry in a place. */
    void remove(int index) {
        final int moved = count - 1 - index;
        entries[index] = null;
        System.arraycopy(entries, index + 1, entries, index, moved);
        entries[count - 1] = null;
        System.arraycopy(keys, index + 1, keys, index, moved);
        count--;
    }

    /** Returns the place of the last entry whose key is at most {@code key}; {@code -1} if there is none. */
    int floor(long key) {
        int low = 0;
        int high = count - 1;
        while (low <= high) {
            final int middle = (low + high) >>> 1;
            if (keys[middle] <= key) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }

    /** Returns the place of the entry of a key; {@code -1} if there is none. */
    int find(long key) {
        final int index = floor(key);
        return index >= 0 && keys[index] == key ? index : -1;
    }
}
