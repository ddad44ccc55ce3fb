package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Best fit with coalescing, as in ONNX Runtime.
 *
 * <p><b>Best fit.</b> A request takes the least chunk in order of (size, address) that is large enough and that the
 * requester may use. A chunk of twice the request or more, or with {@code maxDeadGranules} to spare, is split: the
 * request gets the front, the rest stays free.
 *
 * <p><b>Owners.</b> Free memory is <em>unbound</em>, or it is owned by the stream that freed it last and carries the
 * stream's sync id of that moment, its <em>stamp</em>. Any requester may use unbound memory; {@link StreamSearch} says
 * who may use owned memory. The requester that takes memory is its next owner.
 *
 * <p><b>Coalescing.</b> Freed memory merges with its free neighbours at once; see {@link ChunkStore}.
 *
 * <p>Invariants, checked by {@link ConsistencyCheck}: the chunks of a region cover it without gaps; two free neighbours
 * have two different owners; a free chunk has one entry in its owner's index of free chunks, and its untouched head and
 * tail, where not empty, have one each in its owner's index of untouched ends.
 *
 * <p>Costs: finding, freeing and splitting are logarithmic in the number of free chunks; {@link StreamSearch} states
 * what streams add. Releasing a stream is proportional to its free chunks; attaching and detaching a region to the
 * region's.
 */
public sealed class BestFit extends Placement permits BackedFit, QuickFit {
    private static final int NONE = Chunks.NONE;

    private final long maxDeadGranules;

    /** The key of what {@link #find} found: the chunk's own, or that of its untouched head or tail. */
    long foundKey;

    /** Whether {@link #find} found an untouched head or tail. */
    boolean isEndFound;

    private long takenGranules;

    /**
     * Creates a placement without regions.
     *
     * @param maxDeadGranules the excess at which a chunk is split whatever the request
     */
    public BestFit(long maxDeadGranules) {
        this.maxDeadGranules = maxDeadGranules;
    }

    @Override
    public long take(long granules, long requested, @Nullable SyncStream requester) {
        return takeBestFit(granules, requested, slot(requester));
    }

    /** Takes the best fit for the owner of a slot. */
    final long takeBestFit(long granules, long requested, Slot requester) {
        final int found = granules > Chunks.MAX_REGION_GRANULES ? NONE : find(SizeOrder.first(granules), requester);
        return found == NONE ? NO_ADDRESS : takeFound(found, granules, requested, requester);
    }

    /** Takes what {@link #find} has found, or the front of it. */
    final long takeFound(int found, long granules, long requested, Slot requester) {
        ensureSpare();
        step = found;
        final Region region = region(found);
        takenGranules = SizeOrder.granules(foundKey);
        final int owner = chunks.owner(found);
        final int chunk = isEndFound ? carve(region, found, owner, foundKey, takenGranules, granules) : found;
        final long offset = chunks.offset(chunk);
        final long spare = takenGranules - granules;
        final boolean isSplit = spare >= granules || spare >= maxDeadGranules;
        if (isEndFound) {
            step = chunk;
        } else {
            if (isSplit) {
                region.ensureEntry(offset + granules);
            }
            if (owner != StreamSlots.UNBOUND) {
                removeFree(region, chunk, owner, offset, takenGranules);
            } else if (!isSplit) {
                unboundFree.remove(foundKey);
            }
        }
        if (isSplit) {
            takeFront(region, chunk, owner, foundKey, offset + granules, spare, requester.number, requested);
            takenGranules = granules;
        } else {
            chunks.setInUse(chunk, requester.number, requested);
        }
        region.chunksInUse++;
        requester.chunksInUse++;
        return region.address(offset);
    }

    /**
     * Finds the best fit: a chunk, or a chunk with an untouched head or tail; {@link #isEndFound} says which.
     *
     * @param least the least key that fits
     */
    final int find(long least, Slot requester) {
        final int found = unboundFree.isEmpty() ? NONE : unboundFree.ceiling(least);
        foundKey = found == NONE ? SizeOrder.END : unboundFree.foundKey();
        isEndFound = false;
        return slots.count() == 1 ? found : findAmongOwned(least, requester, found);
    }

    private int findAmongOwned(long least, Slot requester, int unboundFit) {
        final int found = streamSearch.find(least, requester, unboundFit, foundKey);
        foundKey = streamSearch.foundKey();
        isEndFound = streamSearch.isEndFound();
        return found;
    }

    /** Makes a cached chunk live again for the owner of a slot, and returns its address. */
    final long reuse(int chunk, long requested, Slot requester) {
        step = chunk;
        final Region region = region(chunk);
        final int owner = chunks.owner(chunk);
        if (owner != requester.number) {
            slots.get(owner).chunksInUse--;
            requester.chunksInUse++;
        }
        chunks.setInUse(chunk, requester.number, requested);
        takenGranules = granules(region, chunk);
        return address(region, chunk);
    }

    @Override
    public final long takenGranules() {
        return takenGranules;
    }

    @Override
    public void prepareFree() {
        ensureSpare();
    }

    @Override
    public void free(Region region, int chunk, long granules) {
        final Slot owner = slots.get(chunks.owner(chunk));
        final SyncStream stream = owner.stream;
        setFree(chunk, owner, stream == null ? 0 : stream.syncId());
        step = FREED;
        region.frees++;
        settle(region, chunk, granules, owner);
    }

    /** Makes a chunk in use free, with the stamp of its free. */
    final void setFree(int chunk, Slot owner, long stamp) {
        if (owner.stream == null) {
            chunks.setUnbound(chunk);
        } else {
            chunks.setOwned(chunk, owner.number, stamp);
        }
    }

    /** Counts a chunk that was made free, and merges it with its neighbours. Call {@link #ensureSpare} before. */
    final void settle(Region region, int chunk, long granules, Slot owner) {
        region.chunksInUse--;
        owner.chunksInUse--;
        coalesce(region, chunk, chunks.offset(chunk), granules);
    }

    @Override
    public void endRun(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot != null) {
            step = BEGUN;
            unbindFree(slot);
        }
    }

    @Override
    public void releaseStream(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot != null) {
            step = BEGUN;
            slots.forget(slot);
            unbindFree(slot);
        }
    }

    /** Does nothing: a freed chunk is merged at once. */
    @Override
    public void mergeCached() {}

    @Override
    void clearCache() {}

    @Override
    void recache(int chunk, long granules) {
        throw new IllegalStateException("best fit caches nothing");
    }

    @Override
    int cachedChunks() {
        return 0;
    }

    @Override
    long cachedGranules() {
        return 0;
    }
}
