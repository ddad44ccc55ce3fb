package allocator.arena.chunk;

import java.util.Arrays;

/**
 * An index of free memory in the order of {@link SizeOrder}. Finds the best fit in time logarithmic in the number of
 * entries, and constant as long as sizes are spread out.
 *
 * <p>A new index has one class of entries, so that an index of few entries takes little Java heap.
 * {@link #ensureClasses} divides it into {@value #STEPS} classes in each octave of sizes, which are faster and take
 * some 12 KiB for a region of 1 GiB.
 *
 * <p>The upper bits of a key select a class; a bitmap says which classes have entries. The least entry of a class is
 * stored with the class, the others are a tree of {@link SortedTrees}: most classes have one entry, and most requests
 * take the least. As a class is a range of keys, the order is exact. ONNX Runtime's bin is the octave, except that its
 * last bin takes all larger sizes.
 */
final class FreeIndex {
    static final int NONE = Chunks.NONE;

    private static final int STEP_BITS = 5;
    private static final int STEPS = 1 << STEP_BITS;
    private static final int CLASS_SHIFT = SizeOrder.OCTAVE_SHIFT - STEP_BITS;
    private static final int MAX_CLASSES = (int) (SizeOrder.first(Chunks.MAX_REGION_GRANULES) >>> CLASS_SHIFT) + STEPS;

    /** All keys are in one class. */
    private static final int ONE_CLASS_SHIFT = 63;

    private static final long NO_ENTRIES = (long) SortedTrees.EMPTY << Integer.SIZE;

    private final SortedTrees trees;

    /** The words of the only class of a new index, kept so that {@link #reset} takes no Java heap. */
    private final long[] onlyClass = {SizeOrder.END, NO_ENTRIES};

    private final long[] onlyFilled = {0};

    /** The bits of a key below those that select a class. */
    private int shift = ONE_CLASS_SHIFT;

    /**
     * Two words for each class, up to the octave of the largest entry to come: the least key, {@link SizeOrder#END} if
     * there is none; and its chunk in the lower half, the tree of the other entries in the upper.
     */
    private long[] classes = onlyClass;

    /** A bit for each class that has entries. */
    private long[] filled = onlyFilled;

    /** Which words of {@link #filled} are not 0. */
    private long filledWords;

    private int size;
    private long foundKey;

    FreeIndex(SortedTrees trees) {
        this.trees = trees;
    }

    private int classOf(long key) {
        return (int) (key >>> shift);
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    private long leastKey(int index) {
        return classes[index << 1];
    }

    private int least(int index) {
        return (int) classes[(index << 1) + 1];
    }

    private int others(int index) {
        return (int) (classes[(index << 1) + 1] >>> Integer.SIZE);
    }

    private void setOthers(int index, int tree) {
        setEntries(index, least(index), tree);
    }

    private void setEntries(int index, int least, int others) {
        classes[(index << 1) + 1] = ((long) others << Integer.SIZE) | (least & 0xFFFF_FFFFL);
    }

    /**
     * Creates the classes of entries of up to {@code granules}. The entries of an only class move, which a failure
     * leaves half done.
     */
    void ensureClasses(long granules) {
        final int last = (int) (SizeOrder.first(granules) >>> CLASS_SHIFT);
        if (!hasClasses() || (last << 1) >= classes.length) {
            addOctaves(last);
        }
    }

    /** Returns whether there is more than one class: {@link #ensureClasses} has to make one for each size then. */
    boolean hasClasses() {
        return shift != ONE_CLASS_SHIFT;
    }

    /** Adds an entry. Call {@link SortedTrees#ensureSpare} before. */
    void add(long key, int chunk) {
        size++;
        final int index = classOf(key);
        final long leastKey = leastKey(index);
        if (key > leastKey) {
            setOthers(index, trees.insert(others(index), key, chunk));
            return;
        }
        int others = SortedTrees.EMPTY;
        if (leastKey == SizeOrder.END) {
            filled[index >>> 6] |= 1L << index;
            filledWords |= 1L << (index >>> 6);
        } else {
            others = trees.insertLeast(others(index), leastKey, least(index));
        }
        classes[index << 1] = key;
        setEntries(index, chunk, others);
    }

    private void addOctaves(int index) {
        final int before = hasClasses() ? classes.length : 0;
        final long[] more = new long[((index | (STEPS - 1)) + 1) << 1];
        System.arraycopy(classes, 0, more, 0, before);
        clear(more, before);
        if (before == 0) {
            final long[] bits = new long[(MAX_CLASSES + Long.SIZE - 1) / Long.SIZE];
            trees.ensureSpare(size);
            filled = bits;
            filledWords = 0;
            size = 0;
            shift = CLASS_SHIFT;
        }
        classes = more;
        if (before == 0) {
            moveEntries();
        }
    }

    /** Moves all entries of the only class to their classes. */
    private void moveEntries() {
        final long leastKey = onlyClass[0];
        if (leastKey != SizeOrder.END) {
            add(leastKey, (int) onlyClass[1]);
        }
        int tree = (int) (onlyClass[1] >>> Integer.SIZE);
        while (tree != SortedTrees.EMPTY) {
            final int least = trees.least(tree);
            final long key = trees.key(least);
            final int chunk = trees.value(least);
            tree = trees.removeLeast(tree);
            add(key, chunk);
        }
        clear(onlyClass, 0);
        onlyFilled[0] = 0;
    }

    private static void clear(long[] classes, int from) {
        for (int i = from; i < classes.length; i += 2) {
            classes[i] = SizeOrder.END;
            classes[i + 1] = NO_ENTRIES;
        }
    }

    /** Removes all entries, once all nodes of the trees are back in their pool. */
    void clear() {
        clear(classes, 0);
        Arrays.fill(filled, 0);
        filledWords = 0;
        size = 0;
    }

    /** Removes all entries and all classes but one, once all nodes of the trees are back in their pool. */
    void reset() {
        classes = onlyClass;
        filled = onlyFilled;
        shift = ONE_CLASS_SHIFT;
        clear();
    }

    void remove(long key) {
        size--;
        final int index = classOf(key);
        final int others = others(index);
        if (leastKey(index) != key) {
            setOthers(index, trees.remove(others, key));
        } else if (others != SortedTrees.EMPTY) {
            final int next = trees.least(others);
            classes[index << 1] = trees.key(next);
            setEntries(index, trees.value(next), trees.removeLeast(others));
        } else {
            classes[index << 1] = SizeOrder.END;
            filled[index >>> 6] &= ~(1L << index);
            if (filled[index >>> 6] == 0) {
                filledWords &= ~(1L << (index >>> 6));
            }
        }
    }

    /**
     * Removes an entry and adds another one. Call {@link SortedTrees#ensureSpare} before.
     *
     * @param key the key of the entry to remove
     * @param newKey the key of the entry to add
     * @param newChunk its chunk
     */
    void replace(long key, long newKey, int newChunk) {
        final int index = classOf(key);
        if (classOf(newKey) == index && leastKey(index) == key && others(index) == SortedTrees.EMPTY) {
            classes[index << 1] = newKey;
            setEntries(index, newChunk, SortedTrees.EMPTY);
        } else {
            remove(key);
            add(newKey, newChunk);
        }
    }

    /**
     * Finds the entry with the least key that is at least {@code key}. Returns its chunk, whose key is
     * {@link #foundKey}; {@link #NONE} if there is none.
     */
    int ceiling(long key) {
        final int index = classOf(key);
        if ((index << 1) >= classes.length) {
            return NONE;
        }
        final long leastKey = leastKey(index);
        if (leastKey != SizeOrder.END) {
            if (key <= leastKey) {
                foundKey = leastKey;
                return least(index);
            }
            final int others = others(index);
            final int place = others == SortedTrees.EMPTY ? SortedTrees.NONE : trees.ceiling(others, key);
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
        foundKey = leastKey(index);
        return least(index);
    }

    /** Returns the key of the entry that {@link #ceiling} or {@link #first} found last. */
    long foundKey() {
        return foundKey;
    }

    /** Returns the first class with entries from {@code index} on, -1 if there is none. */
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

    /** Returns the chunk with the least key, {@link #NONE} if there is none. */
    int first() {
        return leastOf(filledFrom(0));
    }

    /** Returns the chunk with the greatest key, {@link #NONE} if there is none. */
    int last() {
        if (filledWords == 0) {
            return NONE;
        }
        final int word = Long.SIZE - 1 - Long.numberOfLeadingZeros(filledWords);
        final int index = (word << 6) + Long.SIZE - 1 - Long.numberOfLeadingZeros(filled[word]);
        final int others = others(index);
        return others == SortedTrees.EMPTY ? least(index) : trees.value(trees.greatest(others));
    }

    /** Returns whether each class is sorted and the bitmap is correct. */
    boolean isConsistent() {
        boolean consistent = true;
        for (int index = 0; index << 1 < classes.length && consistent; index++) {
            final int others = others(index);
            final long leastKey = leastKey(index);
            consistent = (leastKey != SizeOrder.END) == ((filled[index >>> 6] & (1L << index)) != 0)
                    && (others == SortedTrees.EMPTY
                            || (trees.isSorted(others) && leastKey < trees.key(trees.least(others))));
        }
        for (int word = 0; word < filled.length && consistent; word++) {
            consistent = (filled[word] != 0) == ((filledWords & (1L << word)) != 0);
        }
        return consistent;
    }
}
