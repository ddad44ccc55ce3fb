package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import java.util.function.LongConsumer;

/**
 * The part of the best-fit search that only a lane with streams needs: chunks that a stream owns, and untouched heads
 * and tails.
 *
 * <p>The owner may use its free chunks. Another stream may use a chunk once it has waited for an event of the owner
 * that is later than the chunk's stamp. To a requester that may not use a chunk, the chunk's untouched head and tail
 * are unbound memory like any other.
 *
 * <p>Cost. Among few owners a search visits each of them, and of an owner that the requester has waited for, the chunks
 * that are freed too recently. Among many it reads the {@linkplain StreamSlots#all indexes of all owners} from the
 * least fit upwards: of chunks, if the requester has waited for other streams at all, up to the first that it may use;
 * of untouched ends, up to the first of a chunk that it may not use. That is most often the first one or the second. It
 * reads at most as many chunks as there are streams that the requester has waited for, and as many ends as there are
 * owners, and then visits each of those instead. Memory of a stream that has ended and is not released may be missed
 * among many, until {@link BestFit#unbindEnded}.
 */
final class StreamSearch implements LongConsumer {
    private static final int NONE = Chunks.NONE;

    private final ChunkStore store;
    private final Chunks chunks;
    private final StreamSlots slots;

    /** The key of the best fit so far: of a chunk, or of its untouched head or tail. */
    long foundKey;

    /** Whether the best fit so far is an untouched head or tail. */
    boolean isEndFound;

    /* Of the search among the streams that the requester has waited for. */
    private long least;
    private Slot requester;
    private int best;

    /** Entries of indexes read so far. */
    private long visits;

    StreamSearch(ChunkStore store) {
        this.store = store;
        chunks = store.chunks;
        slots = store.slots;
        requester = slots.unbound();
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
        if (requester.number == StreamSlots.UNBOUND) {
            return findOfOthers(least, requester, unbound);
        }
        final int best = findUsable(least, requester.free, Long.MAX_VALUE, unbound);
        return slots.count() == 2 ? best : findOfOthers(least, requester, best);
    }

    private int findOfOthers(long least, Slot requester, int best) {
        final FreeIndexes all = slots.all;
        return all == null ? findAmongFew(least, requester, best) : findAmongMany(least, requester, best, all);
    }

    private int findAmongFew(long least, Slot requester, int bestSoFar) {
        int best = bestSoFar;
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

    private int findAmongMany(long least, Slot requester, int bestSoFar, FreeIndexes all) {
        int best = bestSoFar;
        final SyncStream stream = requester.stream;
        if (stream != null && stream.waitedStreams() > 0 && hasBetter(all.free, least)) {
            best = findWaitedFor(least, requester, stream, best, all.free);
        }
        return hasBetter(all.untouchedEnds, least) ? findUntouchedEnd(least, requester, best, all.untouchedEnds) : best;
    }

    /** Finds the best fit among the chunks of streams that the requester has waited for. */
    private int findWaitedFor(long least, Slot requester, SyncStream stream, int bestSoFar, FreeIndex free) {
        final int waited = stream.waitedStreams();
        if (waited > StreamSlots.FEW) {
            long from = least;
            for (int left = waited; left > 0; left--) {
                final int chunk = free.ceiling(from);
                visits++;
                if (chunk == NONE || free.foundKey() >= foundKey) {
                    return bestSoFar;
                }
                if (chunks.stamp(chunk) < waited(requester, owner(chunk))) {
                    foundKey = free.foundKey();
                    return chunk;
                }
                from = free.foundKey() + 1;
            }
        }
        this.least = least;
        this.requester = requester;
        best = bestSoFar;
        if (waited < slots.count()) {
            stream.forEachWaitedStream(this);
        } else {
            for (int number = 1; number < slots.count(); number++) {
                findUsable(slots.get(number));
            }
        }
        return best;
    }

    /** Visits a stream that the requester has waited for. */
    @Override
    public void accept(long streamId) {
        final Slot owner = slots.find(streamId);
        if (owner != null) {
            findUsable(owner);
        }
    }

    private void findUsable(Slot owner) {
        visits++;
        if (owner != requester && hasBetter(owner.free, least)) {
            best = findUsable(least, owner.free, waited(requester, owner), best);
        }
    }

    /**
     * Returns the chunk of the first untouched head or tail of any owner that fits better, of a chunk that the
     * requester may not use, or else {@code bestSoFar}.
     */
    private int findUntouchedEnd(long least, Slot requester, int bestSoFar, FreeIndex untouchedEnds) {
        long from = least;
        for (int left = slots.count(); left > 0; left--) {
            final int chunk = untouchedEnds.ceiling(from);
            visits++;
            if (chunk == NONE || untouchedEnds.foundKey() >= foundKey) {
                return bestSoFar;
            }
            final Slot owner = owner(chunk);
            if (owner != requester && chunks.stamp(chunk) >= waited(requester, owner)) {
                foundKey = untouchedEnds.foundKey();
                isEndFound = true;
                return chunk;
            }
            from = untouchedEnds.foundKey() + 1;
        }
        int best = bestSoFar;
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            visits++;
            if (owner != requester && hasBetter(owner.untouchedEnds, least)) {
                best = findUntouchedEnd(least, owner.untouchedEnds, waited(requester, owner), best);
            }
        }
        return best;
    }

    private Slot owner(int chunk) {
        return slots.get(chunks.owner(chunk));
    }

    /** Returns how many entries of indexes, and owners, searches among many owners have read so far. */
    long visits() {
        return visits;
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

    /** Returns the first chunk of an owner with a stamp below {@code waited} if it fits better, else {@code best}. */
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
        final FreeIndexes all = slots.all;
        if (all != null) {
            return Math.max(largestIn(slots.unbound().free), largestIn(all.free));
        }
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
