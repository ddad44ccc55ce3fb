package allocator.arena.chunk;

import java.util.Arrays;

/**
 * B+ trees that map unique keys to chunk handles. All trees share one pool of nodes: fixed-size arrays of keys and
 * values, reused last retired first.
 *
 * <p>A tree is an {@code int}: its root and its height, or {@link #EMPTY}. A node holds up to {@value #FANOUT} keys
 * with their values, in descending order: the least key comes and goes most often, and then no other entry moves. A
 * leaf's values are handles. An inner node's values are nodes, each under a key that is at least every key below it and
 * less than every key below the preceding node. The first key of an inner node is {@link SizeOrder#END}. All leaves
 * have the same depth.
 *
 * <p>A full node is split in the middle, or beside a new first or last key, so that keys inserted in order fill their
 * nodes. A node that falls below half is joined with a neighbour if both together have at most {@value #JOINED} keys.
 * Each operation visits one node of each level, two where it joins.
 */
final class SortedTrees {
    /** The tree without keys. */
    static final int EMPTY = -1;

    /** No place, and no node. */
    static final int NONE = -1;

    private static final int FANOUT_SHIFT = 4;

    /** The most keys in a node. */
    static final int FANOUT = 1 << FANOUT_SHIFT;

    private static final int LEAST_GROWTH = 4;

    private static final int HALF = FANOUT / 2;

    /** The most keys of two neighbours that are joined; leaves room for a few more. */
    private static final int JOINED = FANOUT - FANOUT / 8;

    private static final int HEIGHT_BITS = 4;
    private static final int HEIGHT_MASK = (1 << HEIGHT_BITS) - 1;

    /** By place: a node's number times the fan-out, plus the index in the node. Keys descend within a node. */
    long[] keys = new long[0];

    private int[] values = new int[0];

    /** Keys in each node; in a retired node, the retired node before it. */
    private int[] counts = new int[0];

    /** Nodes ever taken from the arrays. */
    private int used;

    private int retired = NONE;

    /** Nodes in the arrays that are not in use. */
    private int spare;

    /** The nodes above the leaf of the latest descent, by level, and the index of the child taken in each. */
    private final int[] path = new int[HEIGHT_MASK + 1];

    private final int[] turns = new int[HEIGHT_MASK + 1];

    /** The greatest height that any tree has had. */
    private int tallest;

    private static int tree(int root, int height) {
        return (root << HEIGHT_BITS) | height;
    }

    private static int root(int tree) {
        return tree >>> HEIGHT_BITS;
    }

    private static int height(int tree) {
        return tree & HEIGHT_MASK;
    }

    /** Makes room, so that the next {@code inserts} insertions do not allocate. */
    void ensureSpare(int inserts) {
        ensureSpareNodes(inserts * (tallest + 2));
    }

    /** Returns a smaller pool, with room for the entries of all nodes in whatever order they are inserted. */
    SortedTrees smaller() {
        final SortedTrees smaller = new SortedTrees();
        // Insertions leave nodes half full, except one at each end of a tree.
        smaller.ensureSpareNodes(
                Math.min(3 * (counts.length - spare) + (Repair.INSERTS + 1) * (tallest + 2), counts.length));
        return smaller;
    }

    /** Makes room for {@code nodes} more nodes. */
    private void ensureSpareNodes(int nodes) {
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
    boolean isSparse() {
        return Compaction.isSparse(counts.length - spare, counts.length);
    }

    /** Takes over the arrays of other trees, all nodes of which are spare. */
    void become(SortedTrees smaller) {
        keys = smaller.keys;
        values = smaller.values;
        counts = smaller.counts;
        clearNodes();
    }

    /** Returns all nodes to the pool. */
    void clearNodes() {
        used = 0;
        retired = NONE;
        spare = counts.length;
    }

    /** Descends to the leaf of the least key and records the path. */
    private int descendToLeast(int tree) {
        int node = root(tree);
        for (int level = height(tree); level > 0; level--) {
            final int turn = count(node) - 1;
            path[level] = node;
            turns[level] = turn;
            node = values[base(node) + turn];
        }
        return node;
    }

    /** Descends to the leaf for {@code key} and records the path. */
    private int descend(int tree, long key) {
        int node = root(tree);
        for (int level = height(tree); level > 0; level--) {
            final int turn = rank(node, key) - 1;
            path[level] = node;
            turns[level] = turn;
            node = values[base(node) + turn];
        }
        return node;
    }

    /** Inserts a key that the tree lacks. Call {@link #ensureSpare} before. Returns the tree after the change. */
    int insert(int tree, long key, int value) {
        if (tree == EMPTY) {
            return create(key, value);
        }
        final int leaf = descend(tree, key);
        if (count(leaf) < FANOUT) {
            insertSorted(leaf, key, value);
            return tree;
        }
        return insertAt(tree, leaf, rank(leaf, key), key, value);
    }

    /** Inserts a key that is less than all others. Call {@link #ensureSpare} before. */
    int insertLeast(int tree, long key, int value) {
        if (tree == EMPTY) {
            return create(key, value);
        }
        final int leaf = descendToLeast(tree);
        return insertAt(tree, leaf, count(leaf), key, value);
    }

    private int insertAt(int tree, int leaf, int index, long key, int value) {
        int node = leaf;
        int at = index;
        long newKey = key;
        int newValue = value;
        for (int level = 0; ; level++) {
            if (count(node) < FANOUT) {
                insertEntry(node, at, newKey, newValue);
                return tree;
            }
            final int end = at == FANOUT || at == 0 ? at : HALF;
            final int right = split(node, end);
            if (at > HALF) {
                insertEntry(right, at - end, newKey, newValue);
            } else {
                insertEntry(node, at, newKey, newValue);
            }
            newKey = keys[base(right)];
            newValue = right;
            if (level > 0) {
                keys[base(right)] = SizeOrder.END;
            }
            if (level == height(tree)) {
                return growRoot(tree, newKey, right);
            }
            node = path[level + 1];
            at = turns[level + 1] + 1;
        }
    }

    private int create(long key, int value) {
        final int root = create();
        setCount(root, 0);
        insertEntry(root, 0, key, value);
        return tree(root, 0);
    }

    private int growRoot(int tree, long rightKey, int right) {
        final int root = create();
        setCount(root, 0);
        insertEntry(root, 0, SizeOrder.END, root(tree));
        insertEntry(root, 1, rightKey, right);
        tallest = Math.max(tallest, height(tree) + 1);
        return tree(root, height(tree) + 1);
    }

    /** Removes a key that the tree has. Returns the tree after the change. */
    int remove(int tree, long key) {
        final int leaf = descend(tree, key);
        removeSorted(leaf, key);
        return removed(tree, leaf);
    }

    /** Removes the least key of a tree that is not empty. */
    int removeLeast(int tree) {
        final int leaf = descendToLeast(tree);
        setCount(leaf, count(leaf) - 1);
        return removed(tree, leaf);
    }

    /** Joins nodes after an entry of a leaf was removed. */
    private int removed(int tree, int leaf) {
        int node = leaf;
        for (int level = 1; level <= height(tree) && count(node) < HALF; level++) {
            final int parent = path[level];
            final int at = joinWithNeighbour(parent, turns[level], level > 1);
            if (at == NONE) {
                return tree;
            }
            removeEntry(parent, at);
            keys[base(parent)] = SizeOrder.END;
            node = parent;
        }
        return shrinkRoot(tree);
    }

    /**
     * Joins a child of {@code parent} with a neighbour if both have few keys. An empty child is always removed. Returns
     * the index of the entry of {@code parent} to remove, {@link #NONE} if nothing was joined.
     */
    private int joinWithNeighbour(int parent, int index, boolean isInner) {
        final int[] children = values;
        final int base = base(parent);
        final int node = children[base + index];
        if (count(node) == 0) {
            retire(node);
            return index;
        }
        final int rightIndex = index + 1 < count(parent) ? index + 1 : index;
        if (rightIndex == 0) {
            return NONE;
        }
        final int left = children[base + rightIndex - 1];
        final int right = children[base + rightIndex];
        final int leftCount = count(left);
        final int rightCount = count(right);
        if (leftCount + rightCount > JOINED) {
            return NONE;
        }
        if (isInner) {
            keys[base(right)] = keys[base + rightIndex];
        }
        move(right, 0, left, leftCount, rightCount);
        setCount(left, leftCount + rightCount);
        retire(right);
        return rightIndex;
    }

    private int shrinkRoot(int tree) {
        int root = root(tree);
        int height = height(tree);
        while (height > 0 && count(root) == 1) {
            final int child = values[base(root)];
            retire(root);
            root = child;
            height--;
        }
        if (count(root) == 0) {
            retire(root);
            return EMPTY;
        }
        return tree(root, height);
    }

    /** Takes a node with an undefined count. Call {@link #ensureSpareNodes} before. */
    private int create() {
        spare--;
        if (retired == NONE) {
            return used++;
        }
        final int node = retired;
        retired = count(node);
        return node;
    }

    /** Returns a node to the pool. */
    private void retire(int node) {
        setCount(node, retired);
        retired = node;
        spare++;
    }

    /** The place of a node's first key. */
    private static int base(int node) {
        return node << FANOUT_SHIFT;
    }

    private int count(int node) {
        return counts[node];
    }

    private void setCount(int node, int count) {
        counts[node] = count;
    }

    /** Returns how many keys of a node are at least {@code key}. */
    private int rank(int node, long key) {
        final int base = base(node);
        int low = base;
        for (int length = count(node); length > 0; ) {
            final int half = (length + 1) >>> 1;
            low = keys[low + half - 1] >= key ? low + half : low;
            length -= half;
        }
        return low - base;
    }

    private void insertEntry(int node, int index, long key, int value) {
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
    private void insertSorted(int node, long key, int value) {
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
    private void removeSorted(int node, long key) {
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

    private void removeEntry(int node, int index) {
        final int count = count(node) - 1;
        final int end = base(node) + count;
        for (int i = base(node) + index; i < end; i++) {
            keys[i] = keys[i + 1];
            values[i] = values[i + 1];
        }
        setCount(node, count);
    }

    /** Moves the entries of a full node from index {@code end} on into a new node, which it returns. */
    private int split(int node, int end) {
        final int right = create();
        move(node, end, right, 0, FANOUT - end);
        setCount(right, FANOUT - end);
        setCount(node, end);
        return right;
    }

    private void move(int from, int fromIndex, int to, int toIndex, int length) {
        System.arraycopy(keys, base(from) + fromIndex, keys, base(to) + toIndex, length);
        System.arraycopy(values, base(from) + fromIndex, values, base(to) + toIndex, length);
    }

    /** The key at a place that was found and not changed since. */
    long key(int place) {
        return keys[place];
    }

    /** The value at a place that was found and not changed since. */
    int value(int place) {
        return values[place];
    }

    /** Returns the place of the least key that is at least {@code key}, {@link #NONE} if there is none. */
    int ceiling(int tree, long key) {
        final int leaf = descend(tree, key);
        final int count = rank(leaf, key);
        if (count > 0) {
            return base(leaf) + count - 1;
        }
        for (int level = 1; level <= height(tree); level++) {
            if (turns[level] > 0) {
                return least(values[base(path[level]) + turns[level] - 1], level - 1);
            }
        }
        return NONE;
    }

    /** Returns the place of the least key of a tree that is not empty. */
    int least(int tree) {
        return least(root(tree), height(tree));
    }

    private int least(int root, int height) {
        int node = root;
        for (int level = height; level > 0; level--) {
            node = values[base(node) + count(node) - 1];
        }
        return base(node) + count(node) - 1;
    }

    /** Returns the place of the greatest key of a tree that is not empty. */
    int greatest(int tree) {
        int node = root(tree);
        for (int level = height(tree); level > 0; level--) {
            node = values[base(node)];
        }
        return base(node);
    }

    /** Returns whether the keys descend and no node is empty or overfull. */
    boolean isSorted(int tree) {
        return tree == EMPTY || isSorted(root(tree), height(tree), -1, SizeOrder.END);
    }

    /** Returns whether the keys under a node descend, are above {@code low} and at most {@code high}. */
    private boolean isSorted(int node, int level, long low, long high) {
        final int count = count(node);
        boolean sorted = count > 0 && count <= FANOUT;
        for (int i = 0; i < count && sorted; i++) {
            final long stored = keys[base(node) + i];
            final long key = level > 0 && i == 0 ? high : stored;
            final long next = i + 1 < count ? keys[base(node) + i + 1] : low;
            sorted = next < key
                    && key <= high
                    && (level == 0 || i > 0 || stored == SizeOrder.END)
                    && (level == 0 || isSorted(values[base(node) + i], level - 1, next, key));
        }
        return sorted;
    }
}
