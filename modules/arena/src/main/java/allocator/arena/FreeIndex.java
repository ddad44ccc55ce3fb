package allocator.arena;

import java.util.Arrays;

/**
 * Free memory in the order of {@link SizeOrder}: finds the best fit in time logarithmic in the number of entries, and
 * constant as long as sizes are spread out.
 *
 * <p>The upper bits of a key pick one of the classes, {@value #STEPS} in each octave of sizes; a bitmap says which
 * classes have entries. The least entry of a class is kept with the class, the others are a tree of {@link SortedTrees}:
 * most classes have one entry, and most requests take the least. As a class is a range of keys, the order is exact. ONNX
 * Runtime's bin is the octave, up to its last bin that takes all the larger ones.
 */
final class FreeIndex {
    static final int NONE = Chunks.NONE;

    private static final int STEP_BITS = 5;
    private static final int STEPS = 1 << STEP_BITS;
    private static final int CLASS_SHIFT = SizeOrder.OCTAVE_SHIFT - STEP_BITS;
    private static final int MAX_CLASSES = classOf(SizeOrder.first(Chunks.MAX_REGION_UNITS)) + STEPS;

    private final SortedTrees trees;

    /** The least key of each class, up to the octave of the largest entry so far. Void where the class is empty. */
    private long[] leastKeys = new long[0];

    /** The chunk with the least key. Void where the class is empty. */
    private int[] least = new int[0];

    /** A tree of the other entries of each class. */
    private int[] others = new int[0];

    /** A bit for each class that has entries. */
    private final long[] filled = new long[(MAX_CLASSES + Long.SIZE - 1) / Long.SIZE];

    /** Which words of {@link #filled} are not 0. */
    private long filledWords;

    private int size;
    private long foundKey;

    FreeIndex(SortedTrees trees) {
        this.trees = trees;
    }

    private static int classOf(long key) {
        return (int) (key >>> CLASS_SHIFT);
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    private boolean isFilled(int index) {
        return (filled[index >>> 6] & (1L << index)) != 0;
    }

    void add(long key, int chunk) {
        final int index = classOf(key);
        if (index >= least.length) {
            addOctaves(index);
        }
        size++;
        if (!isFilled(index)) {
            filled[index >>> 6] |= 1L << index;
            filledWords |= 1L << (index >>> 6);
            leastKeys[index] = key;
            least[index] = chunk;
        } else if (key < leastKeys[index]) {
            others[index] = trees.insert(others[index], leastKeys[index], least[index]);
            leastKeys[index] = key;
            least[index] = chunk;
        } else {
            others[index] = trees.insert(others[index], key, chunk);
        }
    }

    private void addOctaves(int index) {
        final int before = least.length;
        final int classes = (index | (STEPS - 1)) + 1;
        leastKeys = Arrays.copyOf(leastKeys, classes);
        others = Arrays.copyOf(others, classes);
        Arrays.fill(others, before, classes, SortedTrees.EMPTY);
        least = Arrays.copyOf(least, classes);
    }

    void remove(long key) {
        final int index = classOf(key);
        size--;
        final int tree = others[index];
        if (leastKeys[index] != key) {
            others[index] = trees.remove(tree, key);
        } else if (tree != SortedTrees.EMPTY) {
            final int first = trees.first(tree);
            leastKeys[index] = trees.key(first);
            least[index] = trees.value(first);
            others[index] = trees.remove(tree, leastKeys[index]);
        } else {
            filled[index >>> 6] &= ~(1L << index);
            if (filled[index >>> 6] == 0) {
                filledWords &= ~(1L << (index >>> 6));
            }
        }
    }

    /**
     * Finds the entry with the least key that is at least {@code key}.
     *
     * @return its chunk, {@link #NONE} if there is none; its key is {@link #foundKey} then
     */
    int ceiling(long key) {
        final int index = classOf(key);
        if (index >= least.length) {
            return NONE;
        }
        if (isFilled(index)) {
            if (leastKeys[index] >= key) {
                return leastOf(index);
            }
            final int tree = others[index];
            final int place = tree == SortedTrees.EMPTY ? SortedTrees.NONE : trees.ceiling(tree, key);
            if (place != SortedTrees.NONE) {
                foundKey = trees.key(place);
                return trees.value(place);
            }
        }
        return leastOf(filledFrom(index + 1));
    }

    private int leastOf(int index) {
        if (index < 0) {
            return NONE;
        }
        foundKey = leastKeys[index];
        return least[index];
    }

    /** The key of the entry that was found last by {@link #ceiling} or {@link #first}. */
    long foundKey() {
        return foundKey;
    }

    /** The first class with entries from {@code index} on, -1 if there is none. */
    private int filledFrom(int index) {
        int word = index >>> 6;
        long bits = word < filled.length ? filled[word] & (-1L << index) : 0;
        if (bits == 0) {
            final long words = word + 1 < Long.SIZE ? filledWords & (-1L << (word + 1)) : 0;
            if (words == 0) {
                return -1;
            }
            word = Long.numberOfTrailingZeros(words);
            bits = filled[word];
        }
        return (word << 6) + Long.numberOfTrailingZeros(bits);
    }

    /** The entry with the least key, {@link #NONE} if there is none. */
    int first() {
        return leastOf(filledFrom(0));
    }

    /** The entry with the greatest key, {@link #NONE} if there is none. */
    int last() {
        if (filledWords == 0) {
            return NONE;
        }
        final int word = Long.SIZE - 1 - Long.numberOfLeadingZeros(filledWords);
        final int index = (word << 6) + Long.SIZE - 1 - Long.numberOfLeadingZeros(filled[word]);
        return others[index] == SortedTrees.EMPTY ? least[index] : trees.value(trees.last(others[index]));
    }

    /** Whether each class is sorted and the bitmap tells the truth. */
    boolean isConsistent() {
        boolean consistent = true;
        for (int index = 0; index < least.length && consistent; index++) {
            final int tree = others[index];
            consistent = tree == SortedTrees.EMPTY
                    || (isFilled(index) && trees.isSorted(tree) && leastKeys[index] < trees.key(trees.first(tree)));
        }
        for (int word = 0; word < filled.length && consistent; word++) {
            consistent = (filled[word] != 0) == ((filledWords & (1L << word)) != 0);
        }
        return consistent;
    }

    /** Bytes of Java heap that the classes take; the nodes are the trees' own. */
    long bookkeepingBytes() {
        return HeapSize.ofLongs(leastKeys.length)
                + HeapSize.ofInts(least.length)
                + HeapSize.ofInts(others.length)
                + HeapSize.ofLongs(filled.length);
    }
}
