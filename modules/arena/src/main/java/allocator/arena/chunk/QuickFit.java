package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Caches freed chunks for the next request of their size, in front of {@link BestFit}: quick fit, after Weinstock and
 * Wulf.
 *
 * <p>A request is rounded up to a class of {@link SizeClasses}. It takes the chunk that was freed last in that class by
 * its stream or without a stream; otherwise the best fit. Only if there is none, cached chunks are merged, the largest
 * first, until one fits; so an arena grows only when nothing is cached any more. The largest are also merged when more
 * than a share of the arena is cached, because cached memory cannot become larger chunks, so that an arena that caches
 * much needs more memory. A chunk is merged at most once for each time that it was cached.
 *
 * <p>To best fit a cached chunk is in use. Streams share it as they share free memory: its stamp is that of the free,
 * and the end of a run unbinds it. Only the first {@value ChunkCache#MAX_OWNERS} owners cache, so that the search for
 * the largest cached chunk stays short; what further streams free is merged at once.
 */
public final class QuickFit extends BestFit {
    private static final int NONE = Chunks.NONE;

    /** The part of the regions to cache, as a divisor, unless a limit is given. A larger part makes an arena grow. */
    private static final int DEFAULT_SHARE = 8;

    /**
     * The most chunks of a class that are merged at once. Neighbours become larger chunks only together, so this is
     * large; yet small enough that no single free takes noticeably long.
     */
    private static final int MERGED_AT_ONCE = 256;

    private final ChunkCache cache = new ChunkCache(chunks);

    /** The most to cache; 0 for the default share. */
    private final long maxCachedGranules;

    private long cachedGranules;

    /**
     * Creates a placement without regions.
     *
     * @param maxDeadGranules the excess at which best fit splits a chunk whatever the request
     * @param maxCachedGranules the most to cache; {@code 0} for an eighth of the regions
     */
    public QuickFit(long maxDeadGranules, long maxCachedGranules) {
        super(maxDeadGranules);
        this.maxCachedGranules = maxCachedGranules;
    }

    @Override
    public long take(long granules, long requested, @Nullable SyncStream stream) {
        final Slot requester = slot(stream);
        final boolean isCaching = requester.number < ChunkCache.MAX_OWNERS;
        if (isCaching) {
            cache.ensureOwner(requester.number); // for large requests as well, so that no free needs to do it
        }
        final int sizeClass = SizeClasses.atLeast(granules);
        if (sizeClass < SizeClasses.COUNT) {
            step = BEGUN;
            int chunk = isCaching ? cache.pop(ChunkCache.stack(requester.number, sizeClass)) : NONE;
            if (chunk == NONE && requester.number != StreamSlots.UNBOUND) {
                chunk = cache.pop(ChunkCache.stack(StreamSlots.UNBOUND, sizeClass));
            }
            if (chunk != NONE) {
                final long address = reuse(chunk, requested, requester);
                cachedGranules -= takenGranules();
                return address;
            }
        }
        final long address = takeBestFit(SizeClasses.granules(sizeClass), requested, requester);
        return address == NO_ADDRESS ? takeExactly(granules, requested, requester) : address;
    }

    /** Takes memory of the size requested, not rounded up to a class, and merges cached chunks until one fits. */
    private long takeExactly(long granules, long requested, Slot requester) {
        long address = takeBestFit(granules, requested, requester);
        while (address == NO_ADDRESS && mergeLargest()) {
            address = takeBestFit(granules, requested, requester);
        }
        return address;
    }

    /** Does nothing: to cache a chunk needs no room, and each merge makes its own. */
    @Override
    public void prepareFree() {}

    /** Caches a live chunk, and merges the largest cached chunks if there are too many. */
    @Override
    public void free(Region region, int chunk, long granules) {
        final Slot owner = slots.get(chunks.owner(chunk));
        final SyncStream stream = owner.stream;
        if (stream != null && owner.number >= ChunkCache.MAX_OWNERS) {
            ensureSpare();
            super.free(region, chunk, granules);
            return;
        }
        region.frees++;
        final long stamp = stream == null ? 0 : stream.syncId();
        step = BEGUN;
        addToCache(chunk, granules, owner, stream == null ? unbound : owner, stamp);
        step = FREED;
        cachedGranules += granules;
        final long most = maxCachedGranules == 0 ? regions.granules() / DEFAULT_SHARE : maxCachedGranules;
        boolean hasMerged = true;
        while (cachedGranules > most && hasMerged) {
            hasMerged = mergeLargest();
        }
    }

    /** Puts a chunk in use on its stack, and counts it for its new owner. */
    private void addToCache(int chunk, long granules, Slot from, Slot owner, long stamp) {
        if (from != owner) {
            from.chunksInUse--;
            owner.chunksInUse++;
        }
        cache.push(ChunkCache.stack(owner.number, SizeClasses.atMost(granules)), chunk, stamp);
    }

    @Override
    public void endRun(SyncStream stream) {
        unbindCached(stream);
        super.endRun(stream);
    }

    @Override
    public void releaseStream(SyncStream stream) {
        unbindCached(stream);
        super.releaseStream(stream);
    }

    private void unbindCached(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot == null || slot.number >= ChunkCache.MAX_OWNERS) {
            return;
        }
        step = BEGUN;
        for (int stack = cache.largest(slot.number); stack != NONE; stack = cache.largest(slot.number)) {
            final int chunk = cache.pop(stack);
            addToCache(chunk, granules(chunk), slot, unbound, 0);
        }
    }

    /** Merges chunks of the largest class that has any, and returns whether there was one. */
    private boolean mergeLargest() {
        final int stack = cache.largest();
        if (stack == NONE) {
            return false;
        }
        if (step == WHOLE) {
            step = BEGUN;
        }
        for (int merged = 0; merged < MERGED_AT_ONCE && cache.isFilled(stack); merged++) {
            ensureSpare();
            final int chunk = cache.pop(stack);
            final Region region = region(chunk);
            final long granules = granules(region, chunk);
            cachedGranules -= granules;
            final Slot owner = slots.get(chunks.owner(chunk));
            setFree(chunk, owner, chunks.cachedStamp(chunk));
            settle(region, chunk, granules, owner);
        }
        return true;
    }

    @Override
    public void mergeCached() {
        boolean hasMerged = true;
        while (hasMerged) {
            hasMerged = mergeLargest();
        }
    }

    @Override
    void clearCache() {
        cache.clear();
        cachedGranules = 0;
    }

    @Override
    void recache(int chunk, long granules) {
        final int owner = chunks.owner(chunk);
        cache.ensureOwner(owner);
        cache.push(ChunkCache.stack(owner, SizeClasses.atMost(granules)), chunk, chunks.cachedStamp(chunk));
        cachedGranules += granules;
    }

    @Override
    int cachedChunks() {
        return cache.count();
    }

    @Override
    long cachedGranules() {
        return cachedGranules;
    }
}
