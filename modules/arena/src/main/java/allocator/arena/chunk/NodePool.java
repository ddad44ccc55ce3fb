package allocator.arena.chunk;

import java.util.Arrays;

/**
 * The nodes of {@link SortedTrees}: fixed-size arrays of keys and values in one pool, reused last retired first.
 *
 * <p>A superclass and not a field of the trees, so that the descent through a tree reads the arrays without another
 * indirection.
 */
abstract class NodePool {
    /** No place, and no node. */
    static final int NONE = -1;

    private static final int FANOUT_SHIFT = 4;

    /** The most keys in a node. */
    static final int FANOUT = 1 << FANOUT_SHIFT;

    private static final int LEAST_GROWTH = 4;

    /** By place: a node's number times the fan-out, plus the index in the node. Keys descend within a node. */
    long[] keys = new long[0];

    int[] values = new int[0];

    /** Keys in each node; in a retired node, the retired node before it. */
    private int[] counts = new int[0];

    /** Nodes ever taken from the arrays. */
    private int used;

    private int retired = NONE;

    /** Nodes in the arrays that are not in use. */
    private int spare;

    /** Makes room for {@code nodes} more nodes. */
    final void ensureSpareNodes(int nodes) {
        if (spare < nodes) {
            grow(counts.length + Math.max(Math.max(nodes - spare, LEAST_GROWTH), counts.length >> 4));
        }
    }

    private void grow(int nodes) {
        final long[] largerKeys = Arrays.copyOf(keys, nodes << FANOUT_SHIFT);
        final int[] largerValues = Arrays.copyOf(values, nodes << FANOUT_SHIFT);
        final int[] largerCounts = Arrays.copyOf(counts, nodes);
        spare += nodes - counts.length;
        counts = largerCounts;
        values = largerValues;
        keys = largerKeys;
    }

    /** Returns whether the arrays are much larger than the nodes in use. */
    final boolean isSparse() {
        return Compaction.isSparse(nodes(), capacity());
    }

    /** Returns the number of nodes in use. */
    final int nodes() {
        return counts.length - spare;
    }

    /** Returns the number of nodes that the arrays have room for. */
    final int capacity() {
        return counts.length;
    }

    /** Takes over the arrays of another pool, all nodes of which are spare. */
    final void become(NodePool smaller) {
        keys = smaller.keys;
        values = smaller.values;
        counts = smaller.counts;
        clearNodes();
    }

    /** Returns all nodes to the pool. */
    final void clearNodes() {
        used = 0;
        retired = NONE;
        spare = counts.length;
    }

    /** Takes a node with an undefined count. Call {@link #ensureSpareNodes} before. */
    final int create() {
        spare--;
        if (retired == NONE) {
            return used++;
        }
        final int node = retired;
        retired = count(node);
        return node;
    }

    /** Returns a node to the pool. */
    final void retire(int node) {
        setCount(node, retired);
        retired = node;
        spare++;
    }

    /** The place of a node's first key. */
    static int base(int node) {
        return node << FANOUT_SHIFT;
    }

    final int count(int node) {
        return counts[node];
    }

    final void setCount(int node, int count) {
        counts[node] = count;
    }

    /** Returns how many keys of a node are at least {@code key}. */
    final int rank(int node, long key) {
        final int base = base(node);
        int low = base;
        for (int length = count(node); length > 0; ) {
            final int half = (length + 1) >>> 1;
            low = keys[low + half - 1] >= key ? low + half : low;
            length -= half;
        }
        return low - base;
    }

    final void insertEntry(int node, int index, long key, int value) {
        final int count = count(node);
        final int at = base(node) + index;
        for (int i = base(node) + count; i > at; i--) {
            keys[i] = keys[i - 1];
            values[i] = values[i - 1];
        }
        keys[at] = key;
        values[at] = value;
        setCount(node, count + 1);
    }

    /** Inserts an entry by its key. One loop searches and moves: where each ends is hard for a processor to predict. */
    final void insertSorted(int node, long key, int value) {
        final long[] nodeKeys = keys;
        final int[] nodeValues = values;
        final int base = base(node);
        final int count = count(node);
        int at = base + count;
        while (at > base && nodeKeys[at - 1] < key) {
            nodeKeys[at] = nodeKeys[at - 1];
            nodeValues[at] = nodeValues[at - 1];
            at--;
        }
        nodeKeys[at] = key;
        nodeValues[at] = value;
        setCount(node, count + 1);
    }

    /** Removes the entry with a key that the node has, in one loop as well. */
    final void removeSorted(int node, long key) {
        final long[] nodeKeys = keys;
        final int[] nodeValues = values;
        final int base = base(node);
        final int count = count(node);
        int at = base + count - 1;
        long movedKey = nodeKeys[at];
        int movedValue = nodeValues[at];
        while (movedKey != key && at > base) {
            at--;
            final long nextKey = nodeKeys[at];
            final int nextValue = nodeValues[at];
            nodeKeys[at] = movedKey;
            nodeValues[at] = movedValue;
            movedKey = nextKey;
            movedValue = nextValue;
        }
        assert movedKey == key : "the key to remove is not in its node";
        setCount(node, count - 1);
    }

    final void removeEntry(int node, int index) {
        final int count = count(node) - 1;
        final int end = base(node) + count;
        for (int i = base(node) + index; i < end; i++) {
            keys[i] = keys[i + 1];
            values[i] = values[i + 1];
        }
        setCount(node, count);
    }

    /** Moves the entries of a full node from index {@code end} on into a new node, which it returns. */
    final int split(int node, int end) {
        final int right = create();
        move(node, end, right, 0, FANOUT - end);
        setCount(right, FANOUT - end);
        setCount(node, end);
        return right;
    }

    final void move(int from, int fromIndex, int to, int toIndex, int length) {
        System.arraycopy(keys, base(from) + fromIndex, keys, base(to) + toIndex, length);
        System.arraycopy(values, base(from) + fromIndex, values, base(to) + toIndex, length);
    }

    /** The key at a place that was found and not changed since. */
    final long key(int place) {
        return keys[place];
    }

    /** The value at a place that was found and not changed since. */
    final int value(int place) {
        return values[place];
    }
}
