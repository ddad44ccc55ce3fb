package allocator.arena.bump;

import org.jspecify.annotations.Nullable;

/**
 * Regions in ascending order of a key, those of equal keys in unsigned order of address. Each has a stamp too, and the
 * first region from a key on whose stamp is below another one is found without a visit to those before it.
 *
 * <p>A treap: a search tree in which no node has a lower priority than its children. The priority is a hash of the
 * region's address, which makes the height logarithmic in the number of regions, as if they had come in random order.
 * Every node knows the least stamp at and below it. Each operation visits the nodes of one or two paths.
 *
 * <p>A region brings its {@link Node}s, so that no operation creates an object. None calls more than two deep: what
 * adds or removes regions has touched its stack.
 */
final class RegionTree {
    /** The place of a region in one tree. */
    static final class Node {
        final BlockRegion region;
        private long key;
        private long stamp;

        /** The least stamp of this node and of those below it. */
        private long leastStamp;

        private int priority;

        @Nullable
        private Node parent;

        @Nullable
        private Node left;

        @Nullable
        private Node right;

        Node(BlockRegion region) {
            this.region = region;
        }

        private boolean isBefore(Node other) {
            return key == other.key ? Long.compareUnsigned(region.base(), other.region.base()) < 0 : key < other.key;
        }

        /** Corrects the least stamp, if those of the children are correct. */
        private void update() {
            long least = stamp;
            if (left != null) {
                least = Math.min(least, left.leastStamp);
            }
            if (right != null) {
                least = Math.min(least, right.leastStamp);
            }
            leastStamp = least;
        }
    }

    @Nullable
    private Node root;

    private int count;

    int count() {
        return count;
    }

    /** Adds the node of a region that has its address. The node is in no tree. */
    void add(Node node, long key, long stamp) {
        node.key = key;
        node.stamp = stamp;
        node.leastStamp = stamp;
        node.priority = hash(node.region.base());
        Node parent = null;
        Node child = root;
        while (child != null) {
            parent = child;
            child = node.isBefore(child) ? child.left : child.right;
        }
        node.parent = parent;
        if (parent == null) {
            root = node;
        } else if (node.isBefore(parent)) {
            parent.left = node;
        } else {
            parent.right = node;
        }
        while (node.parent != null && node.parent.priority < node.priority) {
            rotateUp(node, node.parent);
        }
        updateFrom(node);
        count++;
    }

    /** Removes a node of this tree. */
    void remove(Node node) {
        Node left = node.left;
        Node right = node.right;
        while (left != null && right != null) {
            rotateUp(left.priority < right.priority ? right : left, node);
            left = node.left;
            right = node.right;
        }
        final Node child = left == null ? right : left;
        final Node parent = node.parent;
        replace(node, child, parent);
        node.parent = null;
        node.left = null;
        node.right = null;
        updateFrom(parent);
        count--;
    }

    /** Makes a node the parent of its parent. Corrects the least stamp of the latter only. */
    private void rotateUp(Node node, Node parent) {
        final @Nullable Node moved;
        if (parent.left == node) {
            moved = node.right;
            parent.left = moved;
            node.right = parent;
        } else {
            moved = node.left;
            parent.right = moved;
            node.left = parent;
        }
        if (moved != null) {
            moved.parent = parent;
        }
        replace(parent, node, parent.parent);
        parent.parent = node;
        parent.update();
    }

    /** Puts a successor, if any, in the place of a child of {@code parent}, or in that of the root. */
    private void replace(Node node, @Nullable Node successor, @Nullable Node parent) {
        if (parent == null) {
            root = successor;
        } else if (parent.left == node) {
            parent.left = successor;
        } else {
            parent.right = successor;
        }
        if (successor != null) {
            successor.parent = parent;
        }
    }

    private static void updateFrom(@Nullable Node node) {
        for (Node above = node; above != null; above = above.parent) {
            above.update();
        }
    }

    /** Returns the upper bits of two products, in which every bit of the address counts. */
    private static int hash(long address) {
        final long product = address * 0x9E37_79B9_7F4A_7C15L;
        return (int) (((product ^ (product >>> 32)) * 0xBF58_476D_1CE4_E5B9L) >>> 32);
    }

    /** Returns the first region whose key is at least {@code leastKey}, {@code null} if there is none. */
    @Nullable
    BlockRegion first(long leastKey) {
        Node best = null;
        Node node = root;
        while (node != null) {
            if (node.key >= leastKey) {
                best = node;
                node = node.left;
            } else {
                node = node.right;
            }
        }
        return best == null ? null : best.region;
    }

    /** Returns the last region whose key is at most {@code mostKey}, {@code null} if there is none. */
    @Nullable
    BlockRegion last(long mostKey) {
        Node best = null;
        Node node = root;
        while (node != null) {
            if (node.key <= mostKey) {
                best = node;
                node = node.right;
            } else {
                node = node.left;
            }
        }
        return best == null ? null : best.region;
    }

    /**
     * Returns the first region whose key is at least {@code leastKey} and whose stamp is below {@code stampBelow},
     * {@code null} if there is none.
     */
    @Nullable
    BlockRegion first(long leastKey, long stampBelow) {
        Node last = null;
        Node node = root;
        while (node != null) {
            last = node;
            node = node.key >= leastKey ? node.left : node.right;
        }
        for (Node above = last; above != null; above = above.parent) {
            if (above.key >= leastKey) {
                if (above.stamp < stampBelow) {
                    return above.region;
                }
                if (above.right != null && above.right.leastStamp < stampBelow) {
                    return firstBelow(above.right, stampBelow);
                }
            }
        }
        return null;
    }

    /** Returns the first region of a subtree whose stamp is below {@code stampBelow}; there is one. */
    private static @Nullable BlockRegion firstBelow(Node top, long stampBelow) {
        Node node = top;
        while (node != null) {
            if (node.left != null && node.left.leastStamp < stampBelow) {
                node = node.left;
            } else if (node.stamp < stampBelow) {
                return node.region;
            } else {
                node = node.right;
            }
        }
        return null;
    }

    /** Returns the region after that of a node of this tree, {@code null} if there is none. */
    @Nullable
    BlockRegion next(Node node) {
        Node next = node.right;
        if (next == null) {
            Node below = node;
            next = node.parent;
            while (next != null && next.right == below) {
                below = next;
                next = next.parent;
            }
        } else {
            while (next.left != null) {
                next = next.left;
            }
        }
        return next == null ? null : next.region;
    }

    /** Returns the most nodes between the root and a leaf, both included. */
    int height() {
        return height(root);
    }

    private static int height(@Nullable Node node) {
        return node == null ? 0 : 1 + Math.max(height(node.left), height(node.right));
    }
}
