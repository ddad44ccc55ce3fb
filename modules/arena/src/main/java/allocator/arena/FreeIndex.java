package allocator.arena;

import java.util.Arrays;

/**
 * Free memory in the order of {@link SizeOrder}: finds the best fit in time logarithmic in the number of entries, and
 * constant as long as sizes are spread out.
 *
 * <p>The upper bits of a key pick one of the classes, {@value #STEPS} in each octave of sizes; a bitmap says which
 * classes have entries. The entries of one class are a tree of {@link SortedTrees}. As a class is a range of keys, the
 * order is exact. ONNX Runtime's bin is the octave, up to its last bin that takes all the larger ones.
 */
final class FreeIndex {
    static final int NONE = Chunks.NONE;

    private static final int STEP_BITS = 5;
    private static final int STEPS = 1 << STEP_BITS;
    private static final int CLASS_SHIFT = SizeOrder.OCTAVE_SHIFT - STEP_BITS;
    private static final int MAX_CLASSES = classOf(SizeOrder.first(Chunks.MAX_REGION_UNITS)) + STEPS;

    private final SortedTrees trees;

    /** A tree for each class, up to the octave of the largest entry so far. */
    private int[] classes = new int[0];

    /** A bit for each class that has entries. */
    private final long[] filled = new long[(MAX_CLASSES + Long.SIZE - 1) / Long.SIZE];

    /** Which words of {@link #filled} are not 0. */
    private long filledWords;

    private int size;

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

    void add(long key, int chunk) {
        final int index = classOf(key);
        if (index >= classes.length) {
            addOctaves(index);
        }
        final int tree = classes[index];
        if (tree == SortedTrees.EMPTY) {
            filled[index >>> 6] |= 1L << index;
            filledWords |= 1L << (index >>> 6);
        }
        classes[index] = trees.insert(tree, key, chunk);
        size++;
    }

    private void addOctaves(int index) {
        final int before = classes.length;
        classes = Arrays.copyOf(classes, (index | (STEPS - 1)) + 1);
        Arrays.fill(classes, before, classes.length, SortedTrees.EMPTY);
    }

    void remove(long key) {
        final int index = classOf(key);
        final int tree = trees.remove(classes[index], key);
        classes[index] = tree;
        if (tree == SortedTrees.EMPTY) {
            filled[index >>> 6] &= ~(1L << index);
            if (filled[index >>> 6] == 0) {
                filledWords &= ~(1L << (index >>> 6));
            }
        }
        size--;
    }

    /** The entry with the least key that is at least {@code key}, {@link #NONE} if there is none. */
    int ceiling(long key) {
        final int index = classOf(key);
        if (index >= classes.length) {
            return NONE;
        }
        final int tree = classes[index];
        if (tree != SortedTrees.EMPTY) {
            final int chunk = trees.ceiling(tree, key);
            if (chunk != NONE) {
                return chunk;
            }
        }
        final int above = filledFrom(index + 1);
        return above < 0 ? NONE : trees.first(classes[above]);
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
        final int index = filledFrom(0);
        return index < 0 ? NONE : trees.first(classes[index]);
    }

    /** The entry with the greatest key, {@link #NONE} if there is none. */
    int last() {
        if (filledWords == 0) {
            return NONE;
        }
        final int word = Long.SIZE - 1 - Long.numberOfLeadingZeros(filledWords);
        final int index = (word << 6) + Long.SIZE - 1 - Long.numberOfLeadingZeros(filled[word]);
        return trees.last(classes[index]);
    }

    /** Whether the trees are sorted and the bitmap tells the truth. */
    boolean isConsistent() {
        boolean consistent = true;
        for (int index = 0; index < classes.length && consistent; index++) {
            final boolean isFilled = (filled[index >>> 6] & (1L << index)) != 0;
            consistent = isFilled == (classes[index] != SortedTrees.EMPTY) && trees.isSorted(classes[index]);
        }
        for (int word = 0; word < filled.length && consistent; word++) {
            consistent = (filled[word] != 0) == ((filledWords & (1L << word)) != 0);
        }
        return consistent;
    }

    /** Bytes of Java heap that the classes take; the nodes are the trees' own. */
    long bookkeepingBytes() {
        return HeapSize.ofInts(classes.length) + HeapSize.ofLongs(filled.length);
    }
}
