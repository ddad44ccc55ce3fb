package allocator.arena;

import java.util.Arrays;

/**
 * B+ trees from unique keys to chunk handles, any number of them over one pool of nodes.
 *
 * <p>A tree is an {@code int}: its root and its height, or {@link #EMPTY}. A node holds up to {@value #FANOUT} keys in
 * descending order with their values, so that nothing moves when the least of all comes or goes, as it does most often.
 * A leaf's values are handles, an inner node's are nodes, each under a key that is at least every key below it and less
 * than every key below the node before. The first key of an inner node is {@link SizeOrder#END}. All leaves are at the
 * same depth.
 *
 * <p>A full node is split in the middle, but next to a new first or last key, so that keys that come in order fill
 * their nodes. A node that falls below half is joined with a neighbour if both fit well into one, so two neighbours are
 * always more than {@value #JOINED} together. Every operation visits one node of each level, two when it joins.
 */
final class SortedTrees {
    /** The tree without keys. */
    static final int EMPTY = -1;

    private static final int FANOUT_SHIFT = 4;
    private static final int FANOUT = 1 << FANOUT_SHIFT;
    private static final int HALF = FANOUT / 2;

    /** The most keys that two neighbours are joined with: room for some more is left. */
    private static final int JOINED = FANOUT - FANOUT / 8;

    private static final int HEIGHT_BITS = 4;
    private static final int HEIGHT_MASK = (1 << HEIGHT_BITS) - 1;

    private static final int LEAST_GROWTH = 4;

    /** No place. */
    static final int NONE = -1;

    private long[] keys = new long[0];
    private int[] values = new int[0];

    /** Keys in each node; in a retired node, the retired node before it. */
    private int[] counts = new int[0];

    /** Nodes that were ever used. */
    private int used;

    private int retired = NONE;
    private int retiredCount;

    /** The nodes above a leaf on the way to it, and which of their children the way takes. */
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
        final int needed = inserts * (tallest + 2) - retiredCount - (counts.length - used);
        if (needed > 0) {
            grow(counts.length + Math.max(Math.max(needed, LEAST_GROWTH), counts.length >> 4));
        }
    }

    private void grow(int nodes) {
        final long[] largerKeys = Arrays.copyOf(keys, nodes << FANOUT_SHIFT);
        final int[] largerValues = Arrays.copyOf(values, nodes << FANOUT_SHIFT);
        counts = Arrays.copyOf(counts, nodes);
        values = largerValues;
        keys = largerKeys;
    }

    private int create() {
        if (retired == NONE) {
            return used++;
        }
        final int node = retired;
        retired = count(node);
        retiredCount--;
        return node;
    }

    private void retire(int node) {
        setCount(node, retired);
        retired = node;
        retiredCount++;
    }

    private static int base(int node) {
        return node << FANOUT_SHIFT;
    }

    private int count(int node) {
        return counts[node];
    }

    private void setCount(int node, int count) {
        counts[node] = count;
    }

    /** How many keys of a node are at least {@code key}. */
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

    /** Goes down to the leaf of the least key, noting the way. */
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

    /** Goes down to the leaf for {@code key}, noting the way. */
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

    /**
     * Inserts a key that is not there. Call {@link #ensureSpare} before.
     *
     * @return the tree from now on
     */
    int insert(int tree, long key, int value) {
        if (tree == EMPTY) {
            return create(key, value);
        }
        final int leaf = descend(tree, key);
        return insertAt(tree, leaf, rank(leaf, key), key, value);
    }

    /** Inserts a key that is less than all. Call {@link #ensureSpare} before. */
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
                insertAt(node, at, newKey, newValue);
                return tree;
            }
            final int end = at == FANOUT || at == 0 ? at : HALF;
            final int right = split(node, end);
            if (at > HALF) {
                insertAt(right, at - end, newKey, newValue);
            } else {
                insertAt(node, at, newKey, newValue);
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
        insertAt(root, 0, key, value);
        return tree(root, 0);
    }

    private int growRoot(int tree, long rightKey, int right) {
        final int root = create();
        setCount(root, 0);
        insertAt(root, 0, SizeOrder.END, root(tree));
        insertAt(root, 1, rightKey, right);
        tallest = Math.max(tallest, height(tree) + 1);
        return tree(root, height(tree) + 1);
    }

    private void insertAt(int node, int index, long key, int value) {
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

    private void removeAt(int node, int index) {
        final int count = count(node) - 1;
        final int end = base(node) + count;
        for (int i = base(node) + index; i < end; i++) {
            keys[i] = keys[i + 1];
            values[i] = values[i + 1];
        }
        setCount(node, count);
    }

    /** Moves what a full node has from {@code end} on into a new one. */
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

    /**
     * Removes a key that is there.
     *
     * @return the tree from now on
     */
    int remove(int tree, long key) {
        final int leaf = descend(tree, key);
        final int at = rank(leaf, key) - 1;
        assert at >= 0 && keys[base(leaf) + at] == key : "a key to remove is not in its tree";
        return removeAt(tree, leaf, at);
    }

    /** Removes the least key of a tree that is not empty. */
    int removeLeast(int tree) {
        final int leaf = descendToLeast(tree);
        return removeAt(tree, leaf, count(leaf) - 1);
    }

    private int removeAt(int tree, int leaf, int index) {
        removeAt(leaf, index);
        int node = leaf;
        for (int level = 1; level <= height(tree) && count(node) < HALF; level++) {
            final int parent = path[level];
            final int at = joinWithNeighbour(parent, turns[level], level > 1);
            if (at == NONE) {
                return tree;
            }
            removeAt(parent, at);
            keys[base(parent)] = SizeOrder.END;
            node = parent;
        }
        return shrinkRoot(tree);
    }

    /**
     * Joins a child of {@code parent} with a neighbour, if both together are few; an empty child goes in any case.
     *
     * @return which entry of {@code parent} is void now, {@link #NONE} if nothing was joined
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

    /** Where the least key is that is at least {@code key}, {@link #NONE} if there is none. */
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

    /** Where the least key is of a tree that is not empty. */
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

    /** Where the greatest key is of a tree that is not empty. */
    int greatest(int tree) {
        int node = root(tree);
        for (int level = height(tree); level > 0; level--) {
            node = values[base(node)];
        }
        return base(node);
    }

    /** The key at a place that was found and not changed since. */
    long key(int place) {
        return keys[place];
    }

    /** The value at a place that was found and not changed since. */
    int value(int place) {
        return values[place];
    }

    /** Whether the keys descend and no node is empty or overfull. */
    boolean isSorted(int tree) {
        return tree == EMPTY || isSorted(root(tree), height(tree), -1, SizeOrder.END);
    }

    /** Whether all keys under a node are above {@code low} and at most {@code high}. */
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

    /** Bytes of Java heap that the nodes take. */
    long bookkeepingBytes() {
        return HeapSize.ofLongs(keys.length) + HeapSize.ofInts(values.length) + HeapSize.ofInts(counts.length);
    }
}
