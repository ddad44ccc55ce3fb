package allocator.arena.chunk;

/** The free chunks of an owner, or of all owners but slot 0; their untouched heads and tails under keys apart. */
class FreeIndexes {
    /** The entries from which on classes pay: more than a node of the one class's tree holds. */
    static final int FEW = SortedTrees.FANOUT;

    final FreeIndex free;

    /** The values are the chunks, as in {@link #free}. */
    final FreeIndex untouchedEnds;

    /** The granules of the largest region that the classes are made for. */
    private long largestRegion;

    FreeIndexes(FreeIndex free, FreeIndex untouchedEnds) {
        this.free = free;
        this.untouchedEnds = untouchedEnds;
    }

    /**
     * Returns whether free memory in a region of {@code granules} needs classes made, or is faster with them: which is
     * where there are more entries than {@code few}.
     */
    final boolean needClasses(long granules, int few) {
        return granules > largestRegion && (free.hasClasses() || free.size() > few);
    }

    /** Makes the classes for free memory in a region of {@code granules}. A failure may leave the indexes half done. */
    final void ensureClasses(long granules) {
        if (granules > largestRegion) {
            free.ensureClasses(granules);
            untouchedEnds.ensureClasses(granules);
            largestRegion = granules;
        }
    }

    /** Returns whether there are so many entries that classes pay. */
    final boolean isCrowded() {
        return free.size() > FEW;
    }

    /** Removes all entries and all classes but one, once all nodes of the trees are back in their pool. */
    final void reset() {
        free.reset();
        untouchedEnds.reset();
        largestRegion = 0;
    }

    /** Removes all entries, once all nodes of the trees are back in their pool. */
    final void clear() {
        free.clear();
        untouchedEnds.clear();
    }

    /** Enters all entries of an owner's indexes, a failure of which leaves these half done. */
    final void addAll(FreeIndexes owner, SortedTrees trees) {
        addAll(free, owner.free, trees);
        addAll(untouchedEnds, owner.untouchedEnds, trees);
    }

    private static void addAll(FreeIndex to, FreeIndex from, SortedTrees trees) {
        for (int chunk = from.first(); chunk != FreeIndex.NONE; chunk = from.ceiling(from.foundKey() + 1)) {
            trees.ensureSpare(1);
            to.add(from.foundKey(), chunk);
        }
    }
}
