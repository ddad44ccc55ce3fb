package allocator.arena.chunk;

/**
 * B+ trees that map unique keys to chunk handles. All trees share one pool of nodes.
 *
 * <p>A tree is an {@code int}: its root and its height, or {@link #EMPTY}. A node holds up to {@value NodePool#FANOUT}
 * keys with their values, in descending order: the least key comes and goes most often, and then no other entry moves.
 * A leaf's values are handles. An inner node's values are nodes, each under a key that is at least every key below it
 * and less than every key below the preceding node. The first key of an inner node is {@link SizeOrder#END}. All leaves
 * have the same depth.
 *
 * <p>A full node is split in the middle, or beside a new first or last key, so that keys inserted in order fill their
 * nodes. A node that falls below half is joined with a neighbour if both together have at most {@value #JOINED} keys.
 * Each operation visits one node of each level, two where it joins.
 */
final class SortedTrees extends NodePool {
    /** The tree without keys. */
    static final int EMPTY = -1;

    private static final int HALF = FANOUT / 2;

    /** The most keys of two neighbours that are joined; leaves room for a few more. */
    private static final int JOINED = FANOUT - FANOUT / 8;

    private static final int HEIGHT_BITS = 4;
    private static final int HEIGHT_MASK = (1 << HEIGHT_BITS) - 1;

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
        smaller.ensureSpareNodes(Math.min(3 * nodes() + (Repair.INSERTS + 1) * (tallest + 2), capacity()));
        return smaller;
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

    /**
     * Inserts a key that the tree does not have. Call {@link #ensureSpare} before.
     *
     * @return the tree after the change
     */
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

    /**
     * Removes a key that the tree has.
     *
     * @return the tree after the change
     */
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
     * Joins a child of {@code parent} with a neighbour if both have few keys. An empty child is always removed.
     *
     * @return the index of the entry of {@code parent} to remove, {@link #NONE} if nothing was joined
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
