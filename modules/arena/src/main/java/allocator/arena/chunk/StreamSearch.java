package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;

/**
 * The part of the best-fit search that only a lane with streams needs: chunks that a stream owns, and untouched heads
 * and tails.
 *
 * <p>The owner may use its free chunks. Another stream may use a chunk once it has waited for an event of the owner
 * that is later than the chunk's stamp. To a requester that may not use a chunk, the chunk's untouched head and tail
 * are unbound memory like any other.
 *
 * <p>Cost: a search visits every other owner, and of an owner that the requester has waited for, the chunks that are
 * freed too recently.
 */
final class StreamSearch {
    private static final int NONE = Chunks.NONE;

    private final ChunkStore store;
    private final Chunks chunks;
    private final StreamSlots slots;

    /** The key of the best fit so far: of a chunk, or of its untouched head or tail. */
    private long foundKey;

    /** Whether the best fit so far is an untouched head or tail. */
    private boolean isEndFound;

    StreamSearch(ChunkStore store) {
        this.store = store;
        chunks = store.chunks;
        slots = store.slots;
    }

    /**
     * Finds the best fit among unbound and owned chunks.
     *
     * @param least the least key that fits
     * @param requester the requester
     * @param unbound the best unbound fit, {@link Chunks#NONE} if there is none
     * @param unboundKey its key, {@link SizeOrder#END} if there is none
     * @return a chunk, or {@link Chunks#NONE}; {@link #foundKey} and {@link #isEndFound} describe the fit
     */
    int find(long least, Slot requester, int unbound, long unboundKey) {
        foundKey = unboundKey;
        isEndFound = false;
        int best = requester.number == StreamSlots.UNBOUND
                ? unbound
                : findUsable(least, requester.free, Long.MAX_VALUE, unbound);
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            if (owner != requester && (hasBetter(owner.free, least) || hasBetter(owner.untouchedEnds, least))) {
                final long waited = waited(requester, owner);
                best = findUsable(least, owner.free, waited, best);
                best = findUntouchedEnd(least, owner.untouchedEnds, waited, best);
            }
        }
        return best;
    }

    /** Returns the key of the latest fit: the chunk's, or that of its untouched head or tail. */
    long foundKey() {
        return foundKey;
    }

    /** Returns whether the latest fit is the untouched head or tail of the chunk, and not the chunk. */
    boolean isEndFound() {
        return isEndFound;
    }

    /** Returns whether an index has an entry that fits better than the best so far. */
    private boolean hasBetter(FreeIndex index, long least) {
        return index.ceiling(least) != NONE && index.foundKey() < foundKey;
    }

    /** Returns the stamp below which {@code requester} may use the memory of another owner. */
    private static long waited(Slot requester, Slot owner) {
        if (requester.stream == null || owner.stream == null) {
            return 0;
        }
        return Math.min(requester.stream.lastWaitedSyncId(owner.stream), Chunks.MAX_STAMP);
    }

    /**
     * Returns the first chunk of an owner with a stamp below {@code waited} if it fits better, or else {@code best}.
     */
    private int findUsable(long least, FreeIndex free, long waited, int best) {
        int chunk = waited == 0 ? NONE : free.ceiling(least);
        while (chunk != NONE) {
            final long key = free.foundKey();
            if (key >= foundKey) {
                return best;
            }
            if (chunks.stamp(chunk) < waited) {
                foundKey = key;
                isEndFound = false;
                return chunk;
            }
            chunk = free.ceiling(key + 1);
        }
        return best;
    }

    /**
     * Returns the chunk of the first untouched head or tail that fits better, of a chunk with a stamp not below
     * {@code waited}, or else {@code best}.
     */
    private int findUntouchedEnd(long least, FreeIndex untouchedEnds, long waited, int best) {
        long from = least;
        for (int chunk = untouchedEnds.ceiling(from); chunk != NONE; chunk = untouchedEnds.ceiling(from)) {
            final long key = untouchedEnds.foundKey();
            if (key >= foundKey) {
                return best;
            }
            if (chunks.stamp(chunk) >= waited) {
                foundKey = key;
                isEndFound = true;
                return chunk;
            }
            from = key + 1;
        }
        return best;
    }

    /** Returns the granules of the largest chunk, untouched head or untouched tail that {@code requester} may use. */
    long largestFor(Slot requester) {
        long largest = largestIn(slots.unbound().free);
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            final long waited = waited(requester, owner);
            for (int chunk = owner.free.first(); chunk != NONE; chunk = owner.free.ceiling(owner.free.foundKey() + 1)) {
                final long usable = chunks.stamp(chunk) < waited
                        ? store.granules(chunk)
                        : Math.max(chunks.untouchedHead(chunk), chunks.untouchedTail(chunk));
                largest = Math.max(largest, usable);
            }
        }
        return largest;
    }

    /** Returns the granules of the largest free chunk of any owner. */
    long largest() {
        long largest = 0;
        for (int number = 0; number < slots.count(); number++) {
            largest = Math.max(largest, largestIn(slots.get(number).free));
        }
        return largest;
    }

    private long largestIn(FreeIndex index) {
        final int chunk = index.last();
        return chunk == NONE ? 0 : store.granules(chunk);
    }
}
