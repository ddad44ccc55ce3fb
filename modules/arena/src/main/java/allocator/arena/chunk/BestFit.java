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
 * <p>Costs: finding, freeing and splitting are logarithmic in the number of free chunks, and with streams also
 * proportional to the number of owners. Releasing a stream is proportional to its free chunks; attaching and detaching
 * a region to the region's.
 */
public final class BestFit extends Placement {
    private static final int NONE = Chunks.NONE;

    /* A field, as each load on the way to a chunk waits for the one before, and the first for the lock. */
    private final FreeIndex unboundFree = store.unboundFree;

    private final long maxDeadGranules;

    /** The key of what {@link #find} found: the chunk's own, or that of its untouched head or tail. */
    private long foundKey;

    /** Whether {@link #find} found an untouched head or tail. */
    private boolean isEndFound;

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
        return take(granules, requested, slot(requester));
    }

    /** Takes memory for the owner of a slot. */
    long take(long granules, long requested, Slot requester) {
        final int found = granules > Chunks.MAX_REGION_GRANULES ? NONE : find(granules, requester);
        if (found == NONE) {
            return NO_ADDRESS;
        }
        store.ensureSpare();
        final Region region = store.region(found);
        takenGranules = SizeOrder.granules(foundKey);
        final int owner = store.chunks.owner(found);
        final int chunk = isEndFound ? store.carve(region, found, owner, foundKey, takenGranules, granules) : found;
        final long offset = store.chunks.offset(chunk);
        if (!isEndFound) {
            region.ensureEntry(offset + granules);
            removeFound(region, chunk, owner, offset);
        }
        final long spare = takenGranules - granules;
        if (spare >= granules || spare >= maxDeadGranules) {
            store.splitOff(region, chunk, owner, offset + granules, spare);
            takenGranules = granules;
        }
        store.chunks.setInUse(chunk, requester.number, requested);
        region.chunksInUse++;
        requester.chunksInUse++;
        return region.address(offset);
    }

    /** Finds the best fit: a chunk, or a chunk with an untouched head or tail; {@link #isEndFound} says which. */
    private int find(long granules, Slot requester) {
        final long least = SizeOrder.first(granules);
        final int found = unboundFree.isEmpty() ? NONE : unboundFree.ceiling(least);
        foundKey = found == NONE ? SizeOrder.END : unboundFree.foundKey();
        isEndFound = false;
        return store.slots.count() == 1 ? found : findAmongOwned(least, requester, found);
    }

    private int findAmongOwned(long least, Slot requester, int unboundFit) {
        final int found = streamSearch.find(least, requester, unboundFit, foundKey);
        foundKey = streamSearch.foundKey();
        isEndFound = streamSearch.isEndFound();
        return found;
    }

    /** Removes the chunk with {@link #foundKey} from its index. */
    private void removeFound(Region region, int chunk, int owner, long offset) {
        if (owner == StreamSlots.UNBOUND) {
            unboundFree.remove(foundKey);
        } else {
            store.removeFree(region, chunk, owner, offset, takenGranules);
        }
    }

    /** Makes a cached chunk live again for the owner of a slot, and returns its address. */
    long reuse(int chunk, long requested, Slot requester) {
        final Region region = store.region(chunk);
        final int owner = store.chunks.owner(chunk);
        if (owner != requester.number) {
            store.slots.get(owner).chunksInUse--;
            requester.chunksInUse++;
        }
        store.chunks.setInUse(chunk, requester.number, requested);
        takenGranules = store.granules(region, chunk);
        return store.address(region, chunk);
    }

    @Override
    public long takenGranules() {
        return takenGranules;
    }

    @Override
    public void prepareFree() {
        store.ensureSpare();
    }

    @Override
    public void free(Region region, int chunk, long granules) {
        final SyncStream stream = store.slots.get(store.chunks.owner(chunk)).stream;
        region.frees++;
        free(region, chunk, granules, stream == null ? 0 : stream.syncId());
    }

    /** Frees a live or cached chunk with the stamp of its free. Call {@link #prepareFree} before. */
    void free(Region region, int chunk, long granules, long stamp) {
        region.chunksInUse--;
        final Slot owner = store.slots.get(store.chunks.owner(chunk));
        owner.chunksInUse--;
        if (owner.stream == null) {
            store.chunks.setUnbound(chunk);
        } else {
            store.chunks.setOwned(chunk, owner.number, stamp, 0, 0);
        }
        store.coalesce(region, chunk, store.chunks.offset(chunk), granules);
    }

    @Override
    public void endRun(SyncStream stream) {
        final Slot slot = store.slots.find(stream);
        if (slot != null) {
            store.unbindFree(slot);
        }
    }

    @Override
    public void releaseStream(SyncStream stream) {
        final Slot slot = store.slots.find(stream);
        if (slot != null) {
            store.slots.forget(slot);
            store.unbindFree(slot);
        }
    }

    /** Does nothing: a freed chunk is merged at once. */
    @Override
    public void mergeCached() {}

    @Override
    int cachedChunks() {
        return 0;
    }

    @Override
    long cachedGranules() {
        return 0;
    }
}
